"""Lays out what is shown: amounts to the right, account names indented by their depth."""


def balance_lines(held, total, flat=False):
    """Return the lines of a balance, with its total below a rule."""
    rows = []
    for account, amounts in held.items():
        name = account if flat else "  " * account.count(":") + account.rsplit(":", 1)[-1]
        rows += _rows([str(amount) for amount in amounts.amounts()], name)
    rows += [("-" * 20, "")] + _rows([str(amount) for amount in total.amounts()] or ["0"], "")
    return right_aligned(rows)


def register_lines(lines):
    """Return the lines of a register."""
    rows = [
        (line.day.isoformat(), line.payee, line.account, str(line.amount), line.held)
        for line in lines
    ]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(5)]
    return [
        "{}  {}  {}  {}  {}".format(
            row[0],
            row[1].ljust(widths[1]),
            row[2].ljust(widths[2]),
            row[3].rjust(widths[3]),
            row[4].rjust(widths[4]),
        )
        for row in rows
    ]


def right_aligned(rows):
    """Return pairs as lines, the first of each to the right."""
    width = max((len(left) for left, _ in rows), default=0)
    return ["{}  {}".format(left.rjust(width), right).rstrip() for left, right in rows]


def _rows(texts, name):
    return [(text, name if at == len(texts) - 1 else "") for at, text in enumerate(texts)]
