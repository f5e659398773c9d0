"""The kinds of secrets that redaction knows, as patterns. Not their application.

Each rule has an exact pattern for decoded text (its last group is the secret; without one, the whole match)
and a looser hint on bytes in the syntax of Hyperscan, which finds raw JSON lines that are worth a look. No
exact pattern can backtrack without bound: what can repeat is anchored on its left, bounded, or disjoint from
what follows.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One kind of secret. It equals no other, so that sets of rules are quick to look up."""

    kind: str
    cues: tuple[str, ...]  # lower-case texts, one of which is in any text that `exact` matches
    exact: re.Pattern[str]
    hint: str


def _rule(kind: str, cues: str, exact: str, hint: str, flags: re.RegexFlag = re.NOFLAG) -> Rule:
    return Rule(kind, tuple(cues.split()), re.compile(exact, flags), hint)


# Where an escape ends, though its last character is a letter: of a string's source, of a URL, of a terminal.
_ESCAPE_ENDS = "|".join(
    [
        r"(?<=\\[abefnrtv0])",
        r"(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\[0-3][0-7]{2})",
        r"(?<=%[0-9A-Fa-f]{2})",
        r"(?<=\x1b[()][AB0])|(?<=\x1b[A-Z])",
        # the escape character may be written in many ways, and Python looks back by fixed widths
        *(rf"(?<=\[[0-9;?]{{{width}}}[A-Za-z])" for width in range(24)),
    ]
)


def _word(word: str) -> str:
    """A word where one may begin; that the text is no such word is told first, since it costs least."""
    return rf"(?={word})(?:\b|{_ESCAPE_ENDS}){word}"


def _token(kind: str, cues: str, body: str, hint: str, *, joined: bool = False) -> Rule:
    """A token that tells by its form what it is; nothing that could be a part of it stands before it.

    `joined`: its form is so rare that it is one behind `name_` or `name-` too.
    """
    before = "A-Za-z0-9" if joined else "A-Za-z0-9_-"
    exact = re.compile(rf"(?={hint})(?:(?<![{before}])|{_ESCAPE_ENDS})(?:{body})")
    return Rule(kind, tuple(cues.split()), exact, hint)


def _cases(*words: str) -> list[str]:
    """The words as they are written in names: lower, UPPER and Title case."""
    return [form for word in words for form in (word, word.upper(), word.title())]


def _compounds(firsts: str, second: str) -> list[str]:
    return [
        f"{first}{join}{last}"
        for first in _cases(*firsts.split())
        for join in ("_", "-", "")
        for last in _cases(second)
    ]


def _by_first_letter(words: list[str]) -> str:
    """Any of the words; Python's engine is quickest where one letter tells most of them off."""
    rests: dict[str, list[str]] = {}
    for word in words:
        rests.setdefault(word[0], []).append(word[1:])
    return "(?:{})".format("|".join(f"{first}(?:{'|'.join(some)})" for first, some in rests.items()))


_NAMES = _by_first_letter(  # of secrets
    _cases("password", "passwd", "passphrase", "pwd", "secret", "credential")
    + [
        f"{name}(?:[_-]?[iI][dD])?"
        for name in _compounds("api secret access private account signing encryption", "key")
    ]
    + _compounds("auth access refresh session bearer api id", "token")
)
_QUOTES = r"""["'\\]{0,6}"""
_ASSIGN = rf"{_QUOTES}\s{{0,4}}(?:=|:)\s{{0,4}}"
_BARE = r"""[^\s"'`\\,;&|<>(){}\[\]]"""

# In a raw line: white space, by escapes or beyond ASCII too.
_SPACE = r"(?:[\s\x80-\xff]|\\+(?:[bfnrtv]|u[0-9a-fA-F]{4}))"
_NAMES_HINT = (  # in any case of ASCII: simpler than the names, and little more
    "(?i:password|passwd|passphrase|pwd|secret|credential|(?:auth|access|refresh|session|bearer|api|id)[_-]?token"
    "|(?:api|secret|access|private|account|signing|encryption)[_-]?key(?:[_-]?id)?)"
    rf"""s?["'\\]*{_SPACE}*[=:]"""
)
_NOT_CODE = r"(?![\w.]{0,200}[(\[])(?!\$)"  # a call, a subscript or a variable is no secret itself
# What stands behind a host rather than a user: a port, or what is put in for one; the end of an IPv6 address.
_NO_PORT = r"(?!(?:[0-9]{1,5}|%[sd]|\$?\{[^{}\s]{0,50}\}|\$[A-Z_]{1,50})[/']|[0-9A-Fa-f:]{0,45}\][:/])"


def _folded(words: str) -> str:
    """These words for bytes read in either case: a few of their letters have cases beyond ASCII."""
    beyond = {"i": r"(?:i|\xc4[\xb0\xb1])", "s": r"(?:s|\xc5\xbf)", "k": r"(?:k|\xe2\x84\xaa)"}
    return "".join(beyond.get(letter, letter) for letter in words)


# Names of JSON fields whose value is a secret.
SECRET_FIELD = re.compile(rf"(?:.*[_\-. ])?{_NAMES}s?")

RULES: tuple[Rule, ...] = (
    _rule(
        "private_key",
        "private",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
        "PRIVATE KEY",
        re.DOTALL,
    ),
    _token(
        "jwt",
        "eyj",
        r"eyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?",
        r"eyJ[A-Za-z0-9_-]{6}",
    ),
    _token("anthropic_key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-", joined=True),
    _token(
        "openai_key",
        "sk-",
        r"sk-(?:(?:proj|svcacct|admin|or-v1|lf)-[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{20,})",
        r"sk-(?:proj|svcacct|admin|or-v1|lf)-|sk-[A-Za-z0-9]{20}",
        joined=True,
    ),
    _token(
        "github_token",
        "gho_ ghp_ ghs_ ghu_ ghr_ github_pat_",
        r"gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        r"gh[opsur]_|github_pat_",
        joined=True,
    ),
    _token(
        "gitlab_token",
        "glpat- glrt- gldt- glcbt-",
        r"gl(?:pat|rt|dt|cbt)-[A-Za-z0-9_-]{16,}",
        "gl(?:pat|rt|dt|cbt)-",
        joined=True,
    ),
    _token(
        "huggingface_token",
        "hf_ api_org_",
        r"(?:hf|api_org)_[A-Za-z0-9]{20,}",
        r"(?:hf|api_org)_[A-Za-z0-9]{20}",
        joined=True,
    ),
    _token(
        "aws_key",
        "akia asia abia acca",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",
        joined=True,
    ),
    _token(
        "google_key",
        "aiza ya29. gocspx-",
        r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}",
        r"AIza|ya29\.|GOCSPX-",
        joined=True,
    ),
    _token(
        "slack_token",
        "xox xapp-",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
        "xox[abeoprs]-|xapp-",
        joined=True,
    ),
    _rule(
        "slack_webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/(?P<s>[A-Za-z0-9/]{20,})",
        r"hooks\.slack\.com",
    ),
    _token(
        "stripe_key",
        "k_live_ k_test_ whsec_",
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{20,}",
        "[rs]k_(?:live|test)_|whsec_",
        joined=True,
    ),
    _token(
        "package_token",
        "npm_ pypi- dckr_pat_",
        r"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|dckr_pat_[A-Za-z0-9_-]{20,}",
        "npm_[A-Za-z0-9]{30}|pypi-[A-Za-z0-9_-]{40}|dckr_pat_",
    ),
    _token("sendgrid_key", "sg.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", r"SG\.[A-Za-z0-9_-]{16}"),
    _token(
        "provider_key",
        "gsk_ r8_ xai- nvapi- pplx- tvly- lsv2_ dop_v1_ doo_v1_ shpat_ fw_ dapi",
        r"(?:gsk_|r8_|xai-|nvapi-|pplx-|tvly-|lsv2_(?:pt|sk)_|dop_v1_|doo_v1_|shpat_|fw_)[A-Za-z0-9_-]{20,}"
        r"|dapi[0-9a-f]{32}",
        r"(?:gsk_|r8_|xai-|nvapi-|pplx-|tvly-|lsv2_|do[op]_v1_|shpat_|fw_)[A-Za-z0-9_-]{20}|dapi[0-9a-f]{32}",
    ),
    _token(
        "service_key",
        "lin_api_ ntn_ figd_ hvs. glsa_ pmak- dp.pt. sntrys_ atatt3 pul- key- age-secret-key- figo_",
        r"(?:lin_api_|ntn_|fig[do]_|hvs\.|glsa_|PMAK-|dp\.pt\.|sntrys_|ATATT3|AGE-SECRET-KEY-)[A-Za-z0-9_-]{20,}"
        r"|(?:pul|key)-[0-9a-f]{32,}",
        r"(?:lin_api_|ntn_|fig[do]_|hvs\.|glsa_|PMAK-|dp\.pt\.|sntrys_|ATATT3|AGE-SECRET-KEY-)[A-Za-z0-9_-]{20}"
        r"|(?:pul|key)-[0-9a-f]{32}",
    ),
    _token(
        "twilio_key",
        "sk ac",
        r"(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])",
        r"(?:SK|AC)[0-9a-f]{32}",
    ),
    _rule(
        "telegram_token",
        ":aa",
        rf"(?=[0-9]{{8}})(?:(?<![0-9A-Za-z])|(?<=bot)|{_ESCAPE_ENDS})[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{32,36}}(?![A-Za-z0-9_-])",
        r":AA[A-Za-z0-9_-]{32}",
    ),
    _rule(
        "azure_signature",
        "sig=",
        r"[?&]sig=(?P<s>[A-Za-z0-9%+/=_-]{20,200})",
        r"[?&]sig=|u0026sig=",
    ),
    _rule(
        "password",
        "login",
        rf"{_word('login')}\s+[^\s\\]{{1,100}}\s+password\s+(?P<s>\S{{1,200}})",
        rf"login{_SPACE}",
    ),
    _rule("password", "pass:", r"-pass(?:in|out)?\s+pass:(?P<s>[^\s\"'\\]{1,200})", "pass:"),
    _rule(
        "password",
        "redis-cli",
        rf"{_word('redis-cli')}\b[^|;&\n]{{0,200}}?\s-a\s*(?P<s>\S{{4,200}})",
        "redis-cli",
    ),
    _rule(
        "url_password",
        "://",
        rf"""://(?:[^\s:/@"'<>]{{1,200}}:{_NO_PORT}|:)(?P<s>(?:[^\s@"'<>:]|:(?!//)|'(?=[\w@])){{1,500}}+)@""",
        r"""(?:\\?/){2}[^\s:/@"]*:[^\s@"]+@""",
    ),
    _rule(
        "authorization",
        "authorization",
        rf"{_word('authorization')}{_ASSIGN}{_QUOTES}(?:(?:bearer|basic|digest|token)\s+)?(?P<s>[A-Za-z0-9._~+/=-]{{8,}})",
        f"(?i:{_folded('authorization')})",
        re.IGNORECASE,
    ),
    _rule(
        "bearer",
        "bearer",
        rf"{_word('bearer')}\s+(?P<s>(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{{12,}})",
        "(?i:bearer)",
        re.IGNORECASE,
    ),
    _rule(
        "password",
        "passw passphrase secret token key",
        rf"""-(?<![A-Za-z]-)-?[A-Za-z-]{{0,40}}(?:passw(?:or)?d|passphrase|secret|token|api-?key|access-?key)"""
        rf"""(?:=|\s+){_QUOTES}{_NOT_CODE}(?P<s>[^\s"'`\\]{{4,}})""",
        rf"(?i:-[A-Z\x80-\xff-]*(?:{_folded('passw(?:or)?d|passphrase|secret|token|api-?key|access-?key')}))"
        rf"(?:=|{_SPACE})",
        re.IGNORECASE,
    ),
    _rule("password", "sshpass", rf"{_word('sshpass')}\s+-p\s*(?P<s>\S{{1,200}})", "sshpass"),
    _rule(
        "password",
        "mysql",
        rf"{_word('mysql')}(?:dump|admin)?\b[^|;&\n]{{0,200}}?\s-p(?P<s>[^\s-]\S{{0,200}})",
        "mysql",
    ),
    _rule(
        "password",
        "-u --user",
        r"""-(?:(?<=\s-)u|-user)[\s=]+["']?[^\s:"'$]{1,100}:(?P<s>[^\s"'$]{3,})""",
        rf"(?:-u|--user)(?:=|{_SPACE})*[^\s:]+:",
    ),
    _rule(
        "password",
        "pass= passwd= password= pwd= secret= token= _key=",
        rf"(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|_KEY)={_QUOTES}"
        rf"{_NOT_CODE}(?P<s>(?![/.~]){_BARE}{{6,}})",
        r"(?:PASSWORD|PASSWD|PASS|PWD|SECRET|TOKEN|_KEY)=",
    ),
    _rule(
        "password",
        "passw passphrase pwd secret credential key token",
        rf"""{_NAMES}{_ASSIGN}(?:\\{{0,3}}"(?P<s>[^"\\\n]{{4,500}})|\\{{0,3}}'(?P<q>[^'\\\n]{{4,500}}))""",
        _NAMES_HINT,
    ),
    _rule(
        "password",
        "passw passphrase pwd secret credential key token",
        rf"{_NAMES}{_ASSIGN}{_NOT_CODE}(?P<s>(?=[^\d\s]{{0,200}}\d){_BARE}{{6,200}})",
        _NAMES_HINT,
    ),
)
