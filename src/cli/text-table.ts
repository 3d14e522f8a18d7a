/** A cell: numbers stand at the right of their column, text at the left. */
export type Cell = string | number;

/** Lays rows out in columns, two blanks apart, below their titles. */
export function formatTable(
  titles: readonly string[],
  rows: readonly (readonly Cell[])[],
): readonly string[] {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => String(row[column] ?? '').length)),
  );
  const isNumeric = titles.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'),
  );
  return [titles, ...rows].map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const text = String(cell);
        return isNumeric[column] === true ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
