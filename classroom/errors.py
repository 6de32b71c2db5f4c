"""What can go wrong in a class, each as one sentence for whoever sees the page."""


class ClassError(Exception):
    """What went wrong, in one sentence that a visitor may read."""


class NoSuchClassError(ClassError):
    """There is no class with such a code, or not any more."""


class LeftError(NoSuchClassError):
    """A learner is in the class no more: they left it in another tab, or their teacher took them out."""


class ReplacedError(NoSuchClassError):
    """The secret by which a teacher was let in has been replaced by another."""


class NotTheTeacherError(ClassError):
    """Somebody came to the teacher's side without its secret."""


class TooManyTriesError(ClassError):
    """Somebody tried too often in a short time."""


class LateError(ClassError):
    """An answer came when the question was closed."""


class AlreadyAnsweredError(ClassError):
    """A learner answered a question for the second time, and otherwise than the first time."""


class NotPossibleError(ClassError):
    """What was sent makes no sense here: an option that does not exist, a question without text, one too many."""


class StoreError(ClassError):
    """The database does not do its work. What was confirmed before is not lost."""


class SettingError(StoreError):
    """The setting names no database."""


class BusyError(StoreError):
    """Others write for too long; sending once more helps."""


class FullError(StoreError):
    """There is no room left on the disk."""


class GoneError(StoreError):
    """The database cannot be reached, read or written."""


class NewerError(StoreError):
    """The database was made by another version of the app, of which this one knows nothing."""
