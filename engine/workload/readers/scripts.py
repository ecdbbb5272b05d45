"""Lines of Python that write a table as Parquet or CSV with every cell as it stands: no id becomes a float, none is merged.

They read {file} and write {new}, as conversions.py says.
"""

# From `columns` by name: cells of one type keep it, those of several types become texts.
BY_COLUMN = """\
def column(cells):
    try:
        return pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowException, OverflowError):
        lacks = [cell is None or isinstance(cell, float) and cell != cell for cell in cells]
        return pyarrow.array([None if lack else str(cell) for lack, cell in zip(lacks, cells)], 'string')
table = pyarrow.table({str(name): column(list(cells)) for name, cells in columns.items()})
objects = [field.name for field in table.schema if 'struct<' in str(field.type)]  # which are no ids
pyarrow.parquet.write_table(table.drop_columns(objects), {new})"""

# From `rows`, each a dictionary, whose own dictionaries are columns too, or a list of cells.
BY_ROW = f"""\
def flat(row, path=''):
    for name, cell in row.items():
        yield from flat(cell, path + str(name) + '.') if isinstance(cell, dict) else [(path + str(name), cell)]
def named(row):
    cells = row if isinstance(row, (list, tuple)) else [row]
    return dict(flat(row if isinstance(row, dict) else {{f'c{{n}}': cell for n, cell in enumerate(cells, 1)}}))
rows, heads = list(rows), [isinstance(row, (list, tuple)) and all(isinstance(cell, str) for cell in row) for row in rows[:2]]
if heads == [True, False] and len(rows[0]) == len(rows[1]):
    rows = [dict(zip(rows[0], row)) for row in rows[1:]]
rows = [named(row) for row in rows]
columns = {{name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}}
{BY_COLUMN}"""

# From `held`, a document: rows, rows under a name, columns by name, or rows by their number, as pandas and others write them.
BY_SHAPE = f"""\
parts = list(held.values()) if isinstance(held, dict) else []
sized = all(hasattr(part, '__len__') and not isinstance(part, (str, bytes, dict)) for part in parts)
tables = [part for part in parts if isinstance(part, list) and part and isinstance(part[0], dict)]
if not parts:
    rows = held
elif 'columns' in held and 'data' in held and held['data'] not in tables:
    rows = [dict(zip(held['columns'], row)) for row in held['data']]
elif sized and len(parts) > len(tables) and len(set(map(len, parts))) == 1 and all(isinstance(name, str) for name in held):
    rows = [dict(zip(held, cells)) for cells in zip(*parts)]
elif tables:
    rows = max(tables, key=len)
elif all(isinstance(part, dict) for part in parts):
    by_row = len(parts) > max(map(len, parts))
    keys = dict.fromkeys(key for part in parts for key in part)
    rows = parts if by_row else [{{name: part.get(key) for name, part in held.items()}} for key in keys]
elif not sized and all(isinstance(name, str) for name in held):
    rows = [held]
else:
    rows = [{{'key': key, 'values': list(cells) if sized else cells}} for key, cells in held.items()]
{BY_ROW}"""

JSON = f"""\
import json, pyarrow, pyarrow.parquet
with open({{file}}, encoding='utf-8-sig') as file:
    text = file.read()
try:
    held = json.loads(text)
except ValueError:
    held = [json.loads(line) for line in text.split('\\n') if line.strip()]
{BY_SHAPE}"""

LITERALS = f"""\
import ast, pyarrow, pyarrow.parquet
with open({{file}}, encoding='utf-8-sig') as file:
    rows = [ast.literal_eval(line) for line in file if line.strip()]
{BY_ROW}"""

AVRO = f"""\
import fastavro, pyarrow, pyarrow.parquet
with open({{file}}, 'rb') as file:
    rows = list(fastavro.reader(file))
{BY_ROW}"""

# Of several tables the longest; names in quotes may hold anything.
SQLITE = f"""\
import sqlite3, pyarrow, pyarrow.parquet
database = sqlite3.connect({{file}})
tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
quoted = ['"' + name.replace('"', '""') + '"' for name, in tables.fetchall()]
lengths = {{name: database.execute(f'SELECT count(*) FROM {{name}}').fetchone()[0] for name in quoted}}
print('rows:', lengths)
cells = database.execute('SELECT * FROM ' + max(lengths, key=lengths.get))  # or one of the other tables
columns = {{name: [] for name, *_ in cells.description}}
for row in cells:
    for column, cell in zip(columns.values(), row):
        column.append(cell)
{BY_COLUMN}"""

PICKLE = f"""\
import pandas, pyarrow, pyarrow.parquet
held = pandas.read_pickle({{file}})
held = held.to_frame() if isinstance(held, pandas.Series) else held
if isinstance(held, pandas.DataFrame):
    held = held.reset_index() if any(held.index.names) else held
    held = {{str(name): held[name].tolist() for name in held}}
held = held.tolist() if hasattr(held, 'tolist') else held
{BY_SHAPE}"""

OBJECTS = f"""\
import numpy, pyarrow, pyarrow.parquet
held = numpy.load({{file}}, allow_pickle=True)
names, held = held.dtype.names, held.tolist()
held = [dict(zip(names, row)) for row in held] if names else held
{BY_SHAPE}"""

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
    """Return lines that write a text as CSV, the cells of whose lines are `cells`; what has a comma is quoted."""
    return (
        "import csv, re\n"
        "with open({file}, encoding='utf-8', errors='surrogateescape', newline='\\n') as lines, \\\n"
        "        open({new}, 'w', encoding='utf-8', errors='surrogateescape', newline='') as table:\n"
        f"    csv.writer(table, lineterminator='\\n').writerows({cells} for line in lines)"
    )
