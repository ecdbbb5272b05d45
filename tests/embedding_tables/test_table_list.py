"""A list of tables as CSV: does it come back, is it read as spreadsheets write it, and refused by line and column?"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.__main__ import main
from engine.embedding_tables import table_list, table_sizes
from engine.embedding_tables.table_list import COLUMNS, TITLES, parse, replaced_tables, text_of
from engine.errors import BadInput, BadKnob
from engine.scenario.presets import preset
from engine.scenario.scenario import PER_TABLE, per_table, with_values
from tests.cases import each, examples
from tests.embedding_tables.unlike_tables import mixed_scenario, scenarios_of_tables
from tests.machines import TINY

KAGGLE = preset("dlrm-kaggle").scenario
NAMES = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=20)


def columns(model):
    return tuple(per_table(model, name) for name in PER_TABLE)


@examples(60)
@given(s=scenarios_of_tables(), data=st.data())
def test_tables_written_as_csv_are_read_back_as_they_are_with_their_names(s, data):
    names = tuple(data.draw(st.lists(NAMES, min_size=s.model.num_tables, max_size=s.model.num_tables)))
    listed = parse(text_of(s.model, names), "tables.csv")
    made = with_values(TINY, {"model.interaction": "concat", **replaced_tables(TINY, listed.changes)[0]})
    assert columns(made.model) == columns(s.model)
    kept = [" ".join(name.split()) for name in names]
    numbered = [str(number) for number in range(1, len(names) + 1)]
    if listed.names:
        assert [own.removeprefix("'") for own in listed.names] == [
            "" if name == number else name.removeprefix("'") for name, number in zip(kept, numbered, strict=True)
        ]
    else:
        assert all(name in ("", number) for name, number in zip(kept, numbered, strict=True))


def test_one_value_for_all_tables_stays_one_value():
    s = with_values(KAGGLE, {"model.embedding_dim": 16})
    changes = parse(text_of(s.model)).changes
    assert changes["model.embedding_dim"] == 16 and changes["model.optimizer"] == s.model.optimizer
    assert with_values(s, replaced_tables(s, changes)[0]) == s


def test_a_list_keeps_which_tables_hold_sequences_and_asks_for_the_column_where_it_lacks_it():
    s = preset("dlrm-v4-mi350x").scenario
    text = text_of(s.model)
    assert text.startswith("Table,Rows,Dim,Lookups,Precision,Optimizer,Kind") and text.count(",sequence") == 3
    assert with_values(s, replaced_tables(s, parse(text).changes)[0]) == s
    without = "\n".join(line.rpartition(",")[0] for line in text.splitlines()[:-1])
    with pytest.raises(BadKnob, match="no column Kind"):
        replaced_tables(s, parse(without).changes)
    assert "Kind" not in text_of(KAGGLE.model)


FORGIVING = {
    "commas": "Table,Rows,Dim,Lookups,Precision,Optimizer\nusers,1000,64,3,fp16,adam\n",
    "semicolons": "Table;Rows;Dim;Lookups;Precision;Optimizer\nusers;1000;64;3;fp16;adam\n",
    "tabs": "Table\tRows\tDim\tLookups\tPrecision\tOptimizer\r\nusers\t1000\t64\t3\tfp16\tadam\r\n",
    "another order": "Optimizer,Lookups,Table,Dim,Rows,Precision\nadam,3,users,64,1000,fp16",
    "TorchRec's names": "name,num_embeddings,embedding_dim,pooling,data_type,optimizer\nusers,1000,64,3,FP16,EXACT_SGD",
    "names with units": '"Feature name","Hash size","Embedding dim [elements]","Pooling factor",dtype,Optimiser\n'
    '"users","1000","64","3","float16","Adam"\n',
    "blank lines and cells": "\ufeff\nTable,Rows,Dim,Lookups,Precision,Optimizer,,\n\nusers,1000,64,3,fp16,adam,,\n,,,,,,,\n",
    "spaces": " Table , Rows , Dim , Lookups , Precision , Optimizer \n users , 1000 , 64 , 3 , fp16 , adam \n",
    "spaces in numbers": "Table;Rows;Dim;Lookups;Precision;Optimizer\nusers;1 000;64.0;3,0;half;adam\n",
    "the columns of results": "Table,Rows,Dim,Lookups,Precision,Optimizer,Size [GB],Memory\nusers,1k,64,3,fp16,adam,1.5,HBM",
}
USERS = {
    "model.num_tables": 1,
    "model.num_embeddings": (1000,),
    "model.embedding_dim": 64,
    "model.pooling": (3,),
    "model.row_precision": "fp16",
}


@each("kind", tuple(FORGIVING))
def test_a_list_is_read_as_spreadsheets_and_programs_write_it(kind):
    found = parse(FORGIVING[kind])
    optimizer = "sgd" if "SGD" in FORGIVING[kind] else "adam"
    assert found.changes == {**USERS, "model.optimizer": optimizer} and found.names == ("users",)


NUMBERS = {
    "5000000": 5_000_000,
    "5 000 000": 5_000_000,
    "5\u202f000\u202f000": 5_000_000,
    "5'000'000": 5_000_000,
    "5_000_000": 5_000_000,
    "5.000.000": 5_000_000,
    '"5,000,000"': 5_000_000,
    "5 M": 5_000_000,
    "2.5 million": 2_500_000,
    "5e6": 5_000_000,
    "5E+06": 5_000_000,
    "512.0": 512,
    "512.00": 512,
}


@each("written", tuple(NUMBERS))
def test_a_number_is_read_rightly(written):
    assert parse(f"Rows,Dim\n{written},8\n").changes["model.num_embeddings"] == (NUMBERS[written],)


@each("written", ("1.000", '"1,000"', "123.456"))
def test_a_number_that_countries_read_differently_is_refused_unless_its_column_tells(written):
    with pytest.raises(BadInput, match=r"tables\.csv:3: column Rows: .* can mean .* without a mark between its digits"):
        parse(f"Rows,Dim\n10,8\n{written},8\n", "tables.csv")
    plain, mark = written.strip('"'), "," if "," in written else "."
    other = f"9{mark}999{mark}999"
    found = parse(f'Rows;Dim\n"{other}";8\n{plain};8\n').changes["model.num_embeddings"]
    assert found == (9_999_999, int(plain.replace(mark, "")))


REFUSED = {
    "nothing": ("", "is empty; begin with the line Table,Rows"),
    "no headings": ("5,6\n1,2\n", "tables.csv:1: no column is named"),
    "no rows": ("Rows,Dim\n", "has 0 tables"),
    "no column of rows": ("Table,Dim\na,1\n", "tables.csv:1: there is no column Rows"),
    "a strange column": ("Rows,Colour\n1,red\n", "tables.csv:1: the heading 'Colour' is not one of Table"),
    "a column twice": ("Rows,num_embeddings\n1,2\n", "tables.csv:1: two columns have the heading Rows"),
    "a word for a number": ("Rows,Dim\n10,8\nten,8\n", "tables.csv:3: column Rows: 'ten' is not a number"),
    "a fraction": ("Rows,Lookups\n10,4.5\n", "tables.csv:2: column Lookups: '4.5' is not a whole number"),
    "a comma for a point": ("Rows;Lookups\n10;4,5\n", "tables.csv:2: column Lookups: '4,5' is not a whole number"),
    "a number out of range": ("Rows,Dim\n10,5000\n", "tables.csv:2: column Dim: model.embedding_dim=5000 is out of range"),
    "a negative number": ("Rows,Dim\n-10,8\n", "tables.csv:2: column Rows: model.num_embeddings=-10 is out of range"),
    "a strange precision": ("Rows,Precision\n10,fp8\n", "tables.csv:2: column Precision: model.row_precision='fp8' is not known"),
    "an empty cell": ("Rows,Dim\n10,\n", "tables.csv:2: column Dim: the cell is empty; write a whole number"),
    "an empty word": ("Rows,Optimizer\n10,\n", "column Optimizer: the cell is empty; write sgd or rowwise-adagrad"),
    "a short row": ("Table,Rows,Dim\na,10\n", "tables.csv:2: column Dim: the cell is empty"),
    "a long row": ("Rows,Dim\n1,000,8\n", "tables.csv:2: the row has 3 cells, the heading 2"),
    "an open mark": ('Table,Rows\n"a,10\nb,20\n', "tables.csv:2: a quotation mark has no partner"),
    "a mark that swallows lines": ('Table,Rows\n"a,10\nb,20\nc",30\n', "tables.csv:2: a quotation mark has no partner"),
    "a mark within a cell": ('Table,Rows\n"a"b,10\n', "tables.csv:2: a quotation mark has no partner"),
    "an open mark at the end": ('Table,Rows\nb,20\na,"10', "tables.csv:3: a quotation mark has no partner"),
}


@each("kind", tuple(REFUSED))
def test_what_cannot_be_read_is_refused_with_line_and_column(kind):
    text, words = REFUSED[kind]
    with pytest.raises(BadInput) as refused:
        parse(text, "tables.csv")
    assert words in str(refused.value)


@examples(300)
@given(lines=st.lists(st.lists(st.text('ab",; \n\r19', max_size=5), min_size=2, max_size=2), min_size=1, max_size=6))
def test_no_stray_mark_loses_a_row(lines):
    """Either each line that is not blank is a table, or the list is refused."""
    text = "Table,Rows\n" + "\n".join(",".join(cells) for cells in lines)
    written = [line for line in text.replace("\r", "\n").split("\n")[1:] if line.replace(",", "").replace('""', "").strip()]
    try:
        found = parse(text)
    except BadInput:
        return
    assert found.tables == len(written)


def test_more_tables_than_there_can_be_are_refused():
    with pytest.raises(BadInput, match="has 10,001 tables; write 1 to 10,000 tables"):
        parse("Rows\n" + "5\n" * 10_001)


def test_what_hangs_on_the_tables_of_before_follows_or_goes_and_says_so():
    base = with_values(KAGGLE, {"data.popularity": "zipf", "data.zipf_exponents": (0.9,) * 26, "policy.plan": ";".join("0" * 26)})
    changes, notes = replaced_tables(base, parse("Rows,Dim,Lookups\n10,64,1\n20,128,2\n").changes)
    made = with_values(base, changes)
    assert made.model.bottom_mlp[-1] == 128 and made.data.zipf_exponents == () and made.policy.plan == ""
    assert made.model.features == 1
    assert [note.partition(" ")[0] for note in notes] == ["data.zipf_exponents", "policy.plan", "model.bottom_mlp"]
    kept, silent = replaced_tables(base, {**parse(text_of(base.model)).changes})
    assert with_values(base, kept) == base and not silent


def test_a_list_without_a_column_that_the_model_has_per_table_asks_for_it():
    base = with_values(KAGGLE, {"model.pooling": tuple(range(1, 27))})
    with pytest.raises(BadInput, match=r"has 2 tables but no column Lookups, while model\.pooling has 26 values"):
        replaced_tables(base, parse("Rows\n10\n20\n").changes)


def test_sizes_are_those_of_each_tables_own_rows():
    s = mixed_scenario(9)
    rows, _, _, _, dims, precisions, optimizers = columns(s.model)
    element = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}
    states = {"sgd": lambda dim: 0, "rowwise-adagrad": lambda dim: 4, "adagrad": lambda dim: 4 * dim, "adam": lambda dim: 8 * dim}
    each_row = [
        dim * element[precision] + 4 * (precision == "int8") + states[optimizer](dim)
        for dim, precision, optimizer in zip(dims, precisions, optimizers, strict=True)
    ]
    sizes = table_sizes.table_sizes(s)
    assert sizes.rows == sum(rows) and sizes.tables == 9
    for dim in {*dims}:
        own = sum(many * nbytes for many, nbytes, wide in zip(rows, each_row, dims, strict=True) if wide == dim)
        assert sizes.by_width[dim] == own
    assert table_sizes.sizes_sentence(TINY).endswith(f"with optimizer state, all {TINY.model.embedding_dim} wide")


def test_the_command_line_takes_tables_from_a_file_and_settings_come_before_them(tmp_path, capsys):
    listed = tmp_path / "tables.csv"
    listed.write_text("name;rows;dim\nusers;5000;16\nitems;700;8\nzip;50;4\n")
    words = ["run", "--estimate", "--preset", "dlrm-kaggle", "--tables", str(listed), "--json", "-"]
    assert main(words) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["scenario"]["model.num_embeddings"] == [5000, 700, 50] and found["scenario"]["model.embedding_dim"] == [16, 8, 4]
    assert [row["Table"] for row in found["tables"]] == ["users", "items", "zip"]
    assert main([*words, "--set", "model.pooling=7", "--set", "model.projection_dim=8"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["scenario"]["model.pooling"] == [7] and "model.bottom_mlp ends in 8 now" in printed.err
    listed.write_text("rows\nmany\n")
    assert main(words) == 2 and "tables.csv:2: column Rows: 'many' is not a number" in capsys.readouterr().err
    listed.write_bytes(b"\xff\xfe\x00")
    assert main(words) == 2 and "tables.csv:1: the text is UTF-16, but it must be UTF-8" in capsys.readouterr().err
    assert main([*words[:4], "--tables", str(tmp_path / "none.csv")]) == 2 and "cannot be read" in capsys.readouterr().err


def test_features_that_share_a_table_are_a_column_where_any_do_and_go_with_other_tables():
    base = with_values(mixed_scenario(3), {"model.pooling": 5, "model.features": (1, 4, 2)})
    text = text_of(base.model)
    assert text.startswith("Table,Rows,Dim,Lookups,Precision,Optimizer,Features\n") and parse(text).changes["model.features"] == (
        1,
        4,
        2,
    )
    assert with_values(base, replaced_tables(base, parse(text).changes)[0]) == base
    changes, notes = replaced_tables(base, parse("Rows,Lookups,Dim,Precision,Optimizer\n5,1,4,fp32,sgd\n").changes)
    assert with_values(base, changes).model.features == 1 and notes[0].startswith("model.features had a value for each")
    assert "Features" not in text_of(with_values(base, {"model.features": 1}).model)


def test_every_column_is_a_knob_with_a_value_per_table():
    assert {path.removeprefix("model.") for path in COLUMNS.values()} == {*PER_TABLE} and TITLES[0] == table_list.TABLE
