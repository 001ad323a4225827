"""What can go wrong, each with a sentence for the user."""


class ConfigError(Exception):
    """A configuration that cannot be read, merged or filled in."""


class BadLayer(ConfigError):
    """A file or a set of variables that is no layer."""

    def __init__(self, source, reason):
        self.source = source
        super().__init__("{}: {}".format(source, reason))


class NoSuchKey(ConfigError):
    """A key that no layer sets."""

    def __init__(self, path, near=()):
        self.path = path
        hint = "; there are " + ", ".join(near) if near else ""
        super().__init__("nothing sets {}{}".format(path, hint))


class Invalid(ConfigError):
    """Values that the schema does not allow; ``problems`` are sentences."""

    def __init__(self, problems):
        self.problems = list(problems)
        super().__init__("; ".join(self.problems))
