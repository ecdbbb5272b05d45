"""Lines of Python that write a table as Parquet or CSV with all cells unchanged.

No id becomes a float, and different ids stay different. In the lines, {file} stands for the file to read and {new} for the file
to write, as in `conversions`.
"""

# Python's own cells, whole numbers as texts: pandas makes floats of those beside gaps, and Arrow takes one type a column.
AS_TEXTS = """\
table = pandas.DataFrame(rows, columns=names, dtype=object).rename(columns=str)
table.map(lambda cell: str(cell) if isinstance(cell, (int, float)) and cell == cell else cell).to_parquet({new})"""

# A document or a line each: a list of rows, columns by name, or rows under "data", with names under "columns".
JSON = f"""\
import json, pandas
with open({{file}}, encoding='utf-8-sig') as file:
    text = file.read().lstrip('\\ufeff \\t\\r\\n')
try:
    rows = json.loads(text)
except ValueError:
    rows = [json.loads(line) for line in text.split('\\n') if line.strip()]
names = rows.get('columns') if isinstance(rows, dict) and 'data' in rows else None
rows = rows.get('data', rows) if isinstance(rows, dict) else rows
if isinstance(rows, dict):
    rows = {{name: list(cells.values()) if isinstance(cells, dict) else cells for name, cells in rows.items()}}
{AS_TEXTS}"""

LITERALS = f"""\
import ast, pandas
with open({{file}}, encoding='utf-8-sig') as file:
    rows, names = [ast.literal_eval(line) for line in file if line.strip()], None
{AS_TEXTS}"""

AVRO = f"""\
import fastavro, pandas
with open({{file}}, 'rb') as file:
    rows, names = list(fastavro.reader(file)), None
{AS_TEXTS}"""

# Of several tables the longest.
SQLITE = f"""\
import sqlite3, pandas
database = sqlite3.connect({{file}})
found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
tables = ['"' + name.replace('"', '""') + '"' for name, in found]
lengths = {{name: database.execute(f'SELECT count(*) FROM {{name}}').fetchone()[0] for name in tables}}
print('rows:', lengths)
cells = database.execute('SELECT * FROM ' + max(lengths, key=lengths.get))  # or one of the other tables
rows, names = cells.fetchall(), [name for name, *_ in cells.description]
{AS_TEXTS}"""

PICKLE = f"""\
import pandas
rows, names = pandas.read_pickle({{file}}), None
{AS_TEXTS}"""

OBJECTS = f"""\
import numpy, pandas
array = numpy.load({{file}}, allow_pickle=True)
rows, names = array.tolist(), array.dtype.names
{AS_TEXTS}"""

FEATHER, STREAM, ORC = (
    f"import {imports}, pyarrow.parquet\npyarrow.parquet.write_table({reader}, {{new}})"
    for imports, reader in (
        ("pyarrow.feather", "pyarrow.feather.read_table({file})"),
        ("pyarrow.ipc", "pyarrow.ipc.open_stream({file}).read_all()"),
        ("pyarrow.orc", "pyarrow.orc.read_table({file})"),
    )
)

ARFF = """\
import csv, re
with open({file}, errors='surrogateescape') as rows, open({new}, 'w', errors='surrogateescape') as table:
    names, write = [], csv.writer(table, lineterminator='\\n').writerow
    for row in map(str.strip, rows):
        if name := re.match(r'''(?i)@attribute\\s+('[^']*'|"[^"]*"|\\S+)''', row):
            names.append(name[1].strip('\\'"'))
        elif row.lower().startswith('@data'):
            write(names)
        elif row and row[0] not in '%@':
            (cells,) = csv.reader([row], quotechar='"' if '"' in row else "'", skipinitialspace=True)
            write(['' if cell.strip() == '?' else cell.strip() for cell in cells])"""


def as_csv(cells: str) -> str:
    """Return lines of Python that write a text as CSV.

    `cells` is the Python expression for the cells of a line. Cells with a comma are quoted.
    """
    return (
        "import csv, re\n"
        "with open({file}, encoding='utf-8', errors='surrogateescape', newline='\\n') as lines, \\\n"
        "        open({new}, 'w', encoding='utf-8', errors='surrogateescape', newline='') as table:\n"
        f"    csv.writer(table, lineterminator='\\n').writerows({cells} for line in lines)"
    )
