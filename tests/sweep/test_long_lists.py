"""Long lists in links: does a model of many unlike tables travel whole, and is a link that is too long, or damaged, refused?"""

import zlib
from base64 import urlsafe_b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadLink
from engine.scenario.scenario import with_values
from engine.sweep import links, packed_lists
from tests.cases import each, examples
from tests.embedding_tables.unlike_tables import mixed_scenario, scenarios_of_tables


@examples(50)
@given(s=scenarios_of_tables())
def test_lists_of_tables_come_back_from_a_link(s):
    assert links.open_link(links.link(s, "tiny")).scenario == s


def test_a_link_has_the_shorter_text_of_a_list():
    s = with_values(
        mixed_scenario(4),
        {"model.num_embeddings": (7, 7, 7, 9), "model.pooling": (1, 2, 3, 4), "model.embedding_dim": (8, 8, 8, 4)},
    )
    pairs = dict(links.query(s, "tiny"))
    assert (pairs["model.num_embeddings"], pairs["model.pooling"], pairs["model.embedding_dim"]) == ("7*3;9", "1;2;3;4", "8*3;4")


@each("tables", (60, 600))
def test_hundreds_of_unlike_tables_fit_into_a_link_and_come_back(tables):
    s = mixed_scenario(tables)
    link = links.link(s, "tiny")
    assert len(link) < links.MOST_CHARACTERS and links.open_link(link).scenario == s
    assert ("lists=" in link) == (tables > 300), "what fits is written out"
    pairs = links.query(s, "tiny")
    assert links.open_pairs(pairs).scenario == s and len(links.text_of(pairs)) < links.MOST_CHARACTERS


def test_a_link_of_thousands_of_unlike_tables_is_refused_with_its_length():
    link = links.link(mixed_scenario(3000), "tiny")
    with pytest.raises(BadLink, match="characters; at most 8000 can be opened"):
        links.open_link(link)


@each("letters", ("", "abc", "%20", "eJwDAAAAAAE", "eNrLzU9JBQAE_wIE"))
def test_damaged_lists_are_refused_in_a_sentence(letters):
    with pytest.raises(BadLink, match=r"lists=.* cannot be read; copy the complete link again"):
        links.open_link(f"/design?preset=tiny&lists={letters}")


@examples(50)
@given(st.integers(0, 3000), st.integers(0, 63))
def test_a_letter_that_has_changed_is_refused_or_read(place, letter):
    letters = dict(packed_lists.pack_lists([("model.pooling", ";".join(map(str, range(1, 99))))]))["lists"]
    other = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[letter]
    at = place % len(letters)
    with suppress(BadLink):
        assert packed_lists.unpack_lists([("lists", letters[:at] + other + letters[at + 1 :])])


def test_lists_that_would_grow_without_end_are_refused():
    bomb = urlsafe_b64encode(zlib.compress(b"model.pooling=" + b"1;" * 5_000_000, 9)).decode()
    with pytest.raises(BadLink, match="cannot be read"):
        packed_lists.unpack_lists([("lists", bomb)])
