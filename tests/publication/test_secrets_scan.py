"""No secret leaves: in no form, in no corner of a file, and no hit shows what it found."""

from __future__ import annotations

import base64
import json
import secrets
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_trials.publication.secret_shapes import Known
from agent_trials.publication.secrets_scan import scan

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = 'q7/+pA"Zä k~9'
NOTHING = Known({})


def kinds(data: bytes | str, known: Known = NOTHING) -> list[str]:
    """Return what is found in some bytes."""
    raw = data.encode() if isinstance(data, str) else data
    return [hit.what for hit in scan("file", raw, known)]


# Written in two parts, so that no scanner of this repository takes them for real ones.
LOOKS: dict[str, str] = {
    "a key of Anthropic": "sk-" + "ant-api03-" + "aB3_" * 8,
    "a key that begins with sk-": "sk-" + "proj-" + "aB3d" * 8,
    "a token of GitHub": "gh" + "p_" + "aB3d" * 9,
    "a token of GitLab": "glp" + "at-" + "aB3d" * 5,
    "a token of Slack": "xo" + "xb-123456789012-" + "aB3d" * 4,
    "a key of AWS": "AK" + "IA" + "ABCDEFGHIJ234567",
    "a key of Google": "AI" + "za" + "aB3d_" * 7,
    "a token of npm": "np" + "m_" + "aB3d" * 9,
    "a token of Hugging Face": "h" + "f_" + "aB3d" * 8,
    "a signed token (JWT)": "ey" + "JhbGciOiJIUzI1" + ".ey" + "JzdWIiOiIxMjM0" + ".aB3dE6gH9jK2",
    "a private key (PEM)": "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "an authorization header": "Authorization: Bearer " + "abcdefgh",
    "an address with a password": "https://ada:" + "hunter2@example.org/",
    "a home folder": "/ho" + "me/ada/notes",
    "a credential that is assigned": "DB_PASSWORD = '" + "aB3dE6gH9jK2mN5p'",
}  # fmt: skip


@pytest.mark.parametrize(("what", "text"), LOOKS.items(), ids=LOOKS)
def test_finds_what_looks_like_a_secret(what: str, text: str) -> None:
    """As text, in a field of JSON, in its name, and in a file inside an archive."""
    archived = {"files": {"a.bin": {"base64": base64.b64encode(text.encode()).decode()}}}

    assert kinds(f"before {text}\nafter") == [what]
    assert kinds(json.dumps({"value": f"line\n{text}"})) == [what]
    assert kinds(json.dumps({text: 1})) == [what]
    assert kinds(json.dumps(archived)) == [what]
    assert what in kinds(f"<p>{text.replace(chr(39), '&#x27;')}</p>")


@pytest.mark.parametrize(
    "text",
    [
        "/ho" + "me/user/notes", "/ho" + "me/{user}/x", "https://example.org/ho" + "me/page",
        "max_tokens = 1024", "the token of the task-install-command-with-a-long-name",
        "sha256:" + "0f" * 32, "password: ${DB_PASSWORD}", "api_key = os.environ['THE_API_KEY']",
        "https://example.org:8080/a@b", "author@example.org", "-----BEGIN SSH SIGNATURE-----",
        "ANTHROPIC_AUTH_TOKEN=rehearsal", '{"inputTokens":1234567890123456789}',
        'credential = "config-dir"', "risk-free-" + "a" * 30,
    ],
)  # fmt: skip
def test_lets_ordinary_text_through(text: str) -> None:
    """A scan that cries wolf gets switched off."""
    assert kinds(text) == []


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "in JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON in JSON": lambda secret: json.dumps(json.dumps(secret)),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64, one byte before": lambda secret: base64.b64encode(b"u" + secret.encode()).decode(),
    "base64, two bytes before": lambda secret: base64.b64encode(b"u:" + secret.encode()).decode(),
    "base64 for addresses": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "base64 in lines": lambda secret: base64.encodebytes(b"x" * 54 + secret.encode()).decode(),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "URL": lambda secret: quote(secret, safe=""),
    "URL with plus": quote_plus,
    "URL in full": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_finds_a_known_secret_in_every_form(form: Callable[[str], str]) -> None:
    known = Known({"MY_TOKEN": SECRET})

    for text in (form(SECRET), json.dumps({"deep": [f"x {form(SECRET)} y"]})):
        found = scan("file", f"first line\n{text}\n".encode(), known)

        assert found
        assert all(hit.known and hit.place.startswith("file:2") for hit in found)
        assert "MY_TOKEN" in found[0].what


@given(secret=st.binary(min_size=8, max_size=40), before=st.binary(max_size=5), after=st.binary())
def test_base64_betrays_it_whatever_stands_around(
    secret: bytes, before: bytes, after: bytes
) -> None:
    """Neighbours share bits with its first and last digit; those in between are its own."""
    name = secret.decode("utf-8", "surrogateescape")
    written = base64.b64encode(before + secret + after)

    assert any(hit.known for hit in scan("f", written, Known({"T": name})))


def test_a_hit_names_file_and_place_and_never_the_secret() -> None:
    token = LOOKS["a key of Anthropic"]
    known = Known({"MY_TOKEN": SECRET})
    data = f'{{"a":"ok"}}\n{{"b":{{"{token}":"{token}"}}}}\nplain {SECRET}\n'

    hits = scan("ledger.jsonl", data.encode(), known)

    assert [str(hit) for hit in hits] == [
        "ledger.jsonl:2:(a field whose name looks like a secret):0: a key of Anthropic",
        "ledger.jsonl:2:b (a name):0: a key of Anthropic",
        "ledger.jsonl:3:7: the value of MY_TOKEN",
    ]
    assert token not in repr(hits)
    assert SECRET not in repr(hits)


def test_two_on_one_line_are_two() -> None:
    """An archive is one line: who has looked at one place has not looked at the next."""
    token = LOOKS["a token of npm"]

    assert len(scan("f", json.dumps({"a": f"{token} {token}", "b": token}).encode(), NOTHING)) == 3
    assert len(scan("f", f"{token} {token}".encode(), NOTHING)) == 2


def test_a_drawing_in_a_page_is_looked_through_in_a_moment() -> None:
    """A run of a million digits: a pattern that tried each of them as its beginning would hang."""
    drawing = base64.b64encode(secrets.token_bytes(750_000)).replace(b"/", b"A").replace(b"+", b"B")

    assert kinds(b'<img src="data:image/svg+xml;base64,' + drawing + b'">') == []


def test_looks_for_the_lines_of_a_key_and_for_this_accounts_home() -> None:
    key = f"-----BEGIN X-----\n{secrets.token_hex(20)}\n-----END X-----"
    known = Known({"SIGNING_KEY": key}, homes=("/data/people/ada", "/"))

    assert kinds(f"x {key.splitlines()[1]} y", known) == ["the value of SIGNING_KEY"]
    assert kinds("see /data/people/ada/notes", known) == ["a home folder"]
    assert kinds("see /data/people/adam/notes and /", known) == []


def test_what_is_too_short_to_be_told_apart_is_not_looked_for() -> None:
    assert Known({"A": "1234567", "B": "12345678"}).names == ("B",)
