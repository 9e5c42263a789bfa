"""The client library of Postern, an identity management server."""

from postern.client import Postern, TokenProvider, reason_of, violations_of

__all__ = ["Postern", "TokenProvider", "reason_of", "violations_of"]
