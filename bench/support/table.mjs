// Prints rows of cells in aligned columns, the first row being the heading.
export function printTable(rows) {
  const widths = rows[0].map((_, column) =>
    Math.max(...rows.map((row) => String(row[column]).length)),
  );
  rows.forEach((row, index) => {
    const cells = row.map((cell, column) =>
      column === 0 ? String(cell).padEnd(widths[column]) : String(cell).padStart(widths[column]),
    );
    console.log(`  ${cells.join('   ')}`);
    if (index === 0) console.log(`  ${widths.map((width) => '-'.repeat(width)).join('   ')}`);
  });
}
