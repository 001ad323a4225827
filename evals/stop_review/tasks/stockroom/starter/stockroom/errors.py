"""What can go wrong, each with a sentence for the user."""


class StockError(Exception):
    """A request that the stock does not allow."""


class UnknownItem(StockError):
    """A SKU that is not in the catalogue."""

    def __init__(self, sku, known=()):
        self.sku = sku
        near = [other for other in known if other.startswith(sku[:2])]
        hint = "; did you mean " + " or ".join(sorted(near)) + "?" if near else ""
        super().__init__("no item has the SKU " + repr(sku) + hint)


class BadFile(StockError):
    """A file that cannot be read as what it should be."""

    def __init__(self, path, reason):
        self.path = path
        super().__init__(str(path) + ": " + reason)
