"""Pasted or uploaded tables: TorchRec's list, or rows of a spreadsheet."""

import re
from typing import Any, NamedTuple

from engine.core.figures import figure
from engine.embedding_tables import table_list
from engine.errors import BadInput
from engine.torchrec.embedding_tables import read_tables
from engine.torchrec.knob_changes import table_changes
from engine.torchrec.pooling_factors import read_pooling
from engine.units import MiB
from engine.user_text import decoded

TORCHREC = re.compile(r"EmbeddingBagConfig|EmbeddingConfig|num_embeddings['\"]?\s*[=:]")
ASSUMED = (
    "TorchRec's list names neither lookups nor optimizers: each feature gets one lookup a sample, and the optimizer stays as it "
    "was. Both change time and memory; correct them in the grid."
)
LIST_BEGINS = ("[", "{", "(")
MOST_MB = 1  # of an uploaded file; a line of 20,000 tables has some 50 characters


class PastedTables(NamedTuple):
    """Pasted tables.

    changes: the knob changes that give a model the tables.
    names: the tables' names, () for none.
    notes: notes for the reader.
    """

    changes: dict[str, Any]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def tables_of(text: str, name: str = "") -> PastedTables:
    """Return the tables that a pasted or uploaded text lists; raises BadInput.

    name: the name of the uploaded file.
    """
    if TORCHREC.search(text) or text.lstrip().startswith(LIST_BEGINS):
        listed_tables = read_tables(text)
        tables = listed_tables.tables
        changes = table_changes(tables, read_pooling("{}", tables))
        return PastedTables(changes, tuple(table.name for table in tables), (*listed_tables.sentences, ASSUMED))
    parsed_list = table_list.parse(text, name)
    return PastedTables(parsed_list.changes, parsed_list.names)


def file_text(content: bytes, name: str) -> str:
    """Return an uploaded file's text; raises BadInput."""
    if len(content) > MOST_MB * MiB:
        raise BadInput(
            f"{name[:80]} has {figure(len(content) / MiB, 'MiB')}, and a file of tables at most {figure(MOST_MB, 'MiB')}; "
            "upload a file with a row for each table, not the tables' rows."
        )
    return decoded(content, name[:80])
