export const differentialCases = [];
