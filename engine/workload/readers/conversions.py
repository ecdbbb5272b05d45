"""Advice on how to convert files of other formats into formats that can be read.

Each conversion has a sentence, and a command or lines of Python to copy.
"""

import re
import shlex
from pathlib import PurePath
from typing import NamedTuple

from ...version import PROGRAM
from . import scripts

NAMES = re.compile(r"\{(file|new)\}")


class Conversion(NamedTuple):
    """Advice to convert a file, with lines to copy.

    words: the advice.
    lines: a command or lines of Python, with {file} for the file and {new} for the new file.
    suffix: the end of the new file's name; "" for the name of the file without its last suffix.
    shell: True for a shell command, False for Python; this selects how file names are quoted.
    """

    words: str
    lines: str = ""
    suffix: str = ""
    shell: bool = False

    def remedy(self, name: str) -> str:
        """Return the lines to copy for the file `name`."""
        path = PurePath(name)
        new_name = f"{path.stem}{self.suffix}" if self.suffix or path.suffix else f"{name}.plain"
        names = {"file": name, "new": new_name if new_name != name else f"new-{name.lstrip('-')}"}
        for role, file_name in names.items():
            names[role] = (
                shlex.quote(f"./{file_name}" if file_name.startswith("-") else file_name) if self.shell else repr(file_name)
            )
        return NAMES.sub(lambda match: names[match[1]], self.lines)


AS_PARQUET = "write it as Parquet, in Python:"


def _by_script(lines: str, words: str = AS_PARQUET, suffix: str = ".parquet") -> Conversion:
    return Conversion(words, lines, suffix)


def _by_pandas(reader: str) -> Conversion:
    return _by_script(f"import pandas\n{reader}.to_parquet({{new}}, index=False)")


def _by_shell(command: str, words: str = "unpack it and give what is inside:", suffix: str = "") -> Conversion:
    return Conversion(words, command, suffix, shell=True)


def _by_rows(parse: str, ids: str) -> Conversion:
    """Return a script that writes label and ids of each row as CSV, with a mapping."""
    return Conversion(
        "write a label and a list of ids a row as CSV, in Python:",
        "with open({file}) as rows, open({new}, 'w') as table:\n"
        "    print('label,ids', file=table)\n"
        "    for row in rows:\n"
        f"        {parse}\n"
        f"        print(label.split()[0], ' '.join({ids}), sep=',', file=table)\n"
        "with open({new} + '.toml', 'w') as mapping:\n"
        "    print('label = \"label > 0\"', 'ids = [\"ids\"]', 'lists = \" \"', sep='\\n', file=mapping)",
        ".csv",
    )


ROWS = Conversion("write its rows as CSV or Parquet with a label and ids")
EXAMPLES = Conversion("write its examples as CSV or Parquet with a label and ids, such as with tf.data.TFRecordDataset")
SHEET = Conversion("save its sheet as CSV")
FEATHER, STREAM, ORC = _by_script(scripts.FEATHER), _by_script(scripts.STREAM), _by_script(scripts.ORC)
STATA = _by_pandas("pandas.read_stata({file})")
SAS = _by_pandas("pandas.read_sas({file}, format='sas7bdat', encoding='infer')")
AVRO = _by_script(scripts.AVRO, "write it as Parquet, in Python with fastavro:")
SQLITE = _by_script(scripts.SQLITE, "write its longest table as Parquet, in Python:")
PICKLE = _by_script(scripts.PICKLE, "if it is a table, a dictionary or a list that you trust, write it as Parquet, in Python:")
OBJECTS = _by_script(scripts.OBJECTS, "if it is a table that you trust, write it as Parquet, in Python:")
JSON, LITERALS = _by_script(scripts.JSON), _by_script(scripts.LITERALS)
ARFF = _by_script(scripts.ARFF, "write its data as CSV, in Python:", ".csv")
HDF5 = Conversion(
    "write its arrays as .npz, in Python with h5py:",
    "import h5py, numpy\n"
    "with h5py.File({file}) as file:\n"
    "    numpy.savez({new}, **{name: array[:] for name, array in file.items() if hasattr(array, 'shape')})",
    ".npz",
)
MATLAB = Conversion(
    "write its arrays as .npz, in Python:",
    "import numpy, scipy.io\n"
    "arrays = scipy.io.loadmat({file}, squeeze_me=True)\n"
    "numpy.savez({new}, **{name: array for name, array in arrays.items() if name[0] != '_'})",
    ".npz",
)
ARCHIVE = Conversion(
    "put it into an archive, whose arrays a mapping describes, in Python:",
    "import numpy\n"
    "array = numpy.load({file})\n"
    "numpy.savez({new}, **({name: array[name] for name in array.dtype.names} if array.dtype.names else {'x': array}))",
    ".npz",
)
SPARSE = Conversion(
    "write what is in its cells as Parquet, in Python:",
    "import pandas, scipy.sparse\n"
    "cells = scipy.sparse.load_npz({file}).tocoo()\n"
    "pandas.DataFrame({'row': cells.row, 'column': cells.col, 'rating': cells.data}).to_parquet({new})",
    ".parquet",
)
GUNZIP, BUNZIP, UNXZ, UNZSTD, UNLZ4 = (
    _by_shell(f"{tool} -dc < {{file}} > {{new}}") for tool in ("gzip", "bzip2", "xz", "zstd", "lz4")
)
UNTAR, UN7Z, UNZIP = _by_shell("tar xf {file}"), _by_shell("7z x {file}"), _by_shell("python -m zipfile -e {file} .")
PULL = _by_shell("git lfs pull --include {file}", "fetch it in its repository:")
ANNEX = _by_shell("git annex get {file}", "fetch it in its repository:")
LINE_ENDS = _by_shell("tr '\\r' '\\n' < {file} > {new}", "write it again with lines that end with LF:", ".csv")
COLONS = _by_script(scripts.as_csv(r"line.rstrip('\r\n').split('::')"), "write it as CSV, in Python:", ".csv")
BLANKS = _by_script(scripts.as_csv(r"re.split(' +', line.strip(' \r\n'))"), "write it as CSV, in Python:", ".csv")
COMMENTS = _by_shell("grep -v '^#' {file} > {new}", "take the lines that begin with # away:", ".csv")
BLANK_START = _by_shell(
    r"sed '1s/^\xef\xbb\xbf//; /[^[:space:],;|]/,$!d' {file} > {new}", "take the blank lines at its start away:", ".csv"
)
ONE_LINE = _by_shell(
    "tr -s ',;| \\t\\r' '\\n' < {file} > {new}",
    f"if it is a trace, write an id a line, for `{PROGRAM} workload fit` and `{PROGRAM} workload count`:",
    ".txt",
)
TITLE = _by_shell("tail -n +2 {file} > {new}", "take the first line away:", ".csv")
NETFLIX = _by_shell(
    "(echo movie,user,rating,date; awk -F: '/:$/ {movie = $1; next} {print movie \",\" $0}' {file}) > {new}",
    "write the movie into each row:",
    ".csv",
)
RATINGS = _by_shell(
    "(echo userId,movieId,rating,timestamp; sed 's/::/,/g' {file}) > {new}", "write it as CSV under the newer header:", ".csv"
)
LATIN = _by_shell("iconv -f ISO-8859-1 -t UTF-8 {file} > {new}", "if it is Latin-1, write it as UTF-8:", ".csv")
LIBSVM = _by_rows("label, *cells = row.partition('#')[0].split()", "cell.split(':')[0] for cell in cells if cell[:4] != 'qid:'")
LIBFFM = _by_rows("label, *cells = row.split()", "':'.join(cell.split(':')[:2]) for cell in cells")
VOWPAL = _by_rows(
    "label, bar, cells = row.partition('|')", "cell.split(':')[0] for cell in (bar + cells).split() if cell[0] != '|'"
)


def _vscsi(names: str, kinds: str) -> Conversion:
    return Conversion(
        f"write the numbers of its blocks, which `{PROGRAM} workload fit` and `{PROGRAM} workload count` take, in Python:",
        "import numpy\n"
        f"record = numpy.dtype(list(zip('{names}'.split(), '{kinds}'.split())))\n"
        "numpy.savetxt({new}, numpy.fromfile({file}, record)['block'], '%d')",
        ".txt",
    )


VSCSI = _vscsi("number length parts command version block time", "<u4 <u4 <u4 <u2 <u2 <u8 <u8")
VSCSI_2 = _vscsi("command version number length parts block time taken", "<u2 <u2 <u4 <u4 <u4 <u8 <u8 <u8")
LCS = _by_shell("traceConv {file} lcs -o {new}", "write it as oracleGeneral, by libCacheSim's own program:", ".oracleGeneral")
MIND = Conversion(
    "write a row for each article shown, in Python:",
    "import pandas\n"
    "names = ['impression', 'user', 'time', 'history', 'news']\n"
    "log = pandas.read_csv({file}, sep='\\t', names=names, quoting=3, usecols=['user', 'time', 'news'])\n"
    "log = log.assign(news=log['news'].str.split(), time=pandas.to_datetime(log['time'])).explode('news')\n"
    "log = log.assign(click=log['news'].str[-1].astype('int8'), news=log['news'].str[:-2])\n"
    "log.to_parquet({new}, index=False)\n"
    "with open({new} + '.toml', 'w') as mapping:\n"
    "    print('label = \"click\"', 'ids = [\"user\", \"news\"]', 'time = \"time\"', sep='\\n', file=mapping)",
    ".parquet",
)
