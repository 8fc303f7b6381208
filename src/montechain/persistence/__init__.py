"""Models as files that can be opened without trusting whoever wrote them."""

from montechain.persistence.model_files import describe, load, save

__all__ = ["describe", "load", "save"]
