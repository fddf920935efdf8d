"""The description of the API (OpenAPI 3.1), from the table of its calls and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from satisfice import __version__
from satisfice.service.decisions import KEY_PATTERN
from satisfice.service.endpoint import Operation
from satisfice.service.problems import KINDS, PREFIX, ProblemBody

_REFERENCE = "#/components/schemas/{name}"
_PATH = {
    "study": ({"type": "string", "minLength": 1, "maxLength": 200, "examples": ["answers"]}, "The name of the study."),
    "decision": ({"type": "string", "minLength": 1, "maxLength": 64}, "The id of the decision."),
}
_HEADERS = {
    "Idempotency-Key": (
        {"type": "string", "pattern": KEY_PATTERN, "minLength": 1, "maxLength": 200},
        "What the call is for: made again with the same key, it gives the same decisions again.",
    ),
    "Last-Event-ID": ({"type": "string", "pattern": "^[0-9]{1,18}$"}, "The last event that was seen."),
}
_ANSWER_HEADERS = {"X-Request-ID": {"schema": {"type": "string"}, "description": "The request, as the log names it."}}
_RETRY = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds after which to try again."}}
# Where the answer of one call leads to.
_LINKS = {
    "POST /v1/studies": {
        "status": ("GET /v1/studies/{study}/status", {"study": "$response.body#/name"}),
        "decide": ("POST /v1/studies/{study}/decisions", {"study": "$response.body#/name"}),
        "delete": ("DELETE /v1/studies/{study}", {"study": "$response.body#/name"}),
    },
    "POST /v1/studies/{study}/decisions": {
        "explain": (
            "GET /v1/studies/{study}/decisions/{decision}",
            {"study": "$request.path.study", "decision": "$response.body#/decisions/0/id"},
        ),
    },
}


def operation_id(method: str, path: str) -> str:
    """The name of a call in the description.

    Examples
    --------
    >>> operation_id("POST", "/v1/studies/{study}/decisions")
    'post_studies_study_decisions'
    """
    words = path.removeprefix("/v1").replace("{", "").replace("}", "").replace(".", "_").strip("/").split("/")
    return "_".join([method.lower(), *words])


def describe(operations: Sequence[Operation], root_path: str = "") -> dict[str, Any]:
    """The description of the API."""
    types: list[Any] = [ProblemBody]
    for operation in operations:
        bodies = operation.body if isinstance(operation.body, tuple) else (operation.body,)
        types += [kind for kind in bodies if kind is not None]
        if operation.answer is not None and not isinstance(operation.answer, tuple):
            types.append(operation.answer)
    found, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    schema_of = dict(zip(map(repr, types), found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "satisfice",
            "version": __version__,
            "description": "The cheapest option that is good enough, while the options are in use.",
        },
        **({"servers": [{"url": root_path}]} if root_path else {}),
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "A key: sf_..."}},
        },
    }


def _operation(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": schema, "description": words}
        for name, (schema, words) in _PATH.items()
        if f"{{{name}}}" in operation.path
    ]
    if operation.query is not None:
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in _properties(operation.query).items()
        ]
    parameters += [
        {"name": name, "in": "header", "required": False, "schema": _HEADERS[name][0], "description": _HEADERS[name][1]}
        for name in operation.headers
    ]
    scope = f" Needs the scope `{operation.scope}`." if operation.scope else ""
    said: dict[str, Any] = {
        "operationId": operation_id(operation.method, operation.path),
        "summary": operation.summary,
        "description": f"{operation.summary}.{scope}",
        "security": [] if operation.open else [{"key": []}],
        "responses": _responses(operation, schema_of),
    }
    if parameters:
        said["parameters"] = parameters
    if operation.body is not None:
        bodies = operation.body if isinstance(operation.body, tuple) else (operation.body,)
        schemas = [schema_of[repr(body)] for body in bodies]
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        said["requestBody"] = {"required": not operation.optional, "content": {"application/json": {"schema": schema}}}
    return said


def _properties(query: type[msgspec.Struct]) -> dict[str, Any]:
    (_,), components = msgspec.json.schema_components([query], ref_template=_REFERENCE)
    properties: dict[str, Any] = components[query.__name__]["properties"]
    for schema in properties.values():
        # A query has no null: what is not given is left out.
        choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
        if choices:
            default = schema.get("default")
            schema.clear()
            schema.update(choices[0])
            if default is not None:
                schema["default"] = default
    return properties


def _responses(operation: Operation, schema_of: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": operation.summary, "headers": dict(_ANSWER_HEADERS)}
    if isinstance(operation.answer, tuple):
        answer["content"] = {
            kind: {"schema": {} if kind == "text/event-stream" else {"type": "string"}} for kind in operation.answer
        }
    elif operation.answer is not None:
        answer["content"] = {"application/json": {"schema": schema_of[repr(operation.answer)]}}
    links = _LINKS.get(f"{operation.method} {operation.path}")
    if links:
        answer["links"] = {
            name: {"operationId": operation_id(*target.split(" ")), "parameters": parameters}
            for name, (target, parameters) in links.items()
        }
    if operation.status == 201:
        answer["headers"]["Location"] = {"schema": {"type": "string"}, "description": "Where it is."}
    responses = {str(operation.status): answer}
    kinds = [*operation.problems, "internal"]
    if not operation.open:
        kinds += ["no-key", "too-many", "forbidden"]
    for kind in dict.fromkeys(kinds):
        status, title = KINDS[kind]
        known = responses.get(str(status))
        if known is not None:
            known["description"] += f"; {title} (`{PREFIX}{kind}`)"
            continue
        headers = dict(_ANSWER_HEADERS)
        if status in (429, 503):
            headers |= _RETRY
        if status == 401:
            headers["WWW-Authenticate"] = {"schema": {"type": "string"}, "description": "How to come in."}
        responses[str(status)] = {
            "description": f"{title} (`{PREFIX}{kind}`)",
            "headers": headers,
            "content": {"application/problem+json": {"schema": {"$ref": _REFERENCE.format(name="ProblemBody")}}},
        }
    return responses
