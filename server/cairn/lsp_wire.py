"""How messages are read and written: pygls's protocol, with its gaps closed."""

from __future__ import annotations

from typing import Any

import cattrs
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    LanguageServerProtocol,
    default_converter,
)

TOLD = " (told)"
"""Ends the feature that takes a method in as a notification, where one of the same name answers it as a request."""


class WireProtocol(LanguageServerProtocol):
    """Leaves out the answer that `cairn.early` gave, and answers every request, however it is made."""

    answered: int | str | None = None
    """The request that `cairn.early` has answered already."""

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if msg_id == self.answered and self.answered is not None:
            self.answered = None
        else:
            super()._send_response(msg_id, result, error)

    def _handle_notification(self, method_name: str, params: Any) -> None:
        told = f"{method_name}{TOLD}"
        super()._handle_notification(told if told in self.fm.features else method_name, params)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Answer requests whose params cannot be read at all; pygls leaves their client waiting."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                cause = error.__cause__
                reason = "; ".join(cattrs.transform_error(cause)) if isinstance(cause, BaseException) else ""
                self._send_response(
                    data["id"], None, JsonRpcInvalidParams(reason or None).to_response_error()
                )
            raise


def raw_params_converter() -> cattrs.Converter:
    """pygls's converter, but with the params of Cairn's own methods left as the JSON they are.

    It would make them nested named tuples, which drop keys that are no Python names.
    """
    converter: cattrs.Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(
        JsonRPCRequestMessage,
        lambda data, _: JsonRPCRequestMessage(
            data["id"], data["method"], data["jsonrpc"], data.get("params")
        ),
    )
    converter.register_structure_hook(
        JsonRPCNotification,
        lambda data, _: JsonRPCNotification(data["method"], data["jsonrpc"], data.get("params")),
    )
    return converter
