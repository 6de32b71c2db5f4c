"""The course as the app has it: every test that runs over all lessons takes them from here."""

import pages.course  # noqa: F401 - fills the course
from ui.course.lesson import COURSE

LESSONS = COURSE.lessons
