"""The one exception a user may see: a sentence saying what is wrong, where, and what to do."""


class UserError(Exception):
    """A mistake in what the user gave or asked; its message is shown as it is, without a traceback."""
