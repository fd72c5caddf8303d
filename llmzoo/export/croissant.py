"""Croissant metadata of a folder of tasks, with the fields for responsible AI.

Formats: Croissant 1.0 (arXiv 2403.19546) and its RAI vocabulary 1.0 (arXiv 2407.16883).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmzoo.export.task_rows import COLUMNS

# "@context" of every description, from the specification
_CONTEXT_FILE = Path(__file__).parent / "croissant_context.json"
_INTEGERS = ("task", "seed")


def describe_dataset(
    *,
    name: str,
    description: str,
    version: str,
    license_url: str,
    url: str,
    responsible_ai: Mapping[str, str],
    files: Mapping[str, bytes],
    columns: Mapping[str, list[str]],
) -> dict[str, Any]:
    """The content of ``croissant.json``.

    ``files``: the JSON Lines file of each split by its path in the folder. ``columns``: the columns of
    each. ``responsible_ai``: texts by name of the RAI vocabulary, without the prefix.
    """
    return {
        "@context": json.loads(_CONTEXT_FILE.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.0",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": name,
        "description": description,
        "version": version,
        "citeAs": f"@misc{{{name}, title = {{{name}}}, version = {{{version}}}, url = {{{url}}}}}",
        "license": license_url,
        "url": url,
        **{f"rai:{key}": text for key, text in responsible_ai.items()},
        "distribution": [_file_object(path, data) for path, data in files.items()],
        "recordSet": [_record_set(path, columns[path]) for path in files],
    }


def _file_object(path: str, data: bytes) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{len(data)} B",
        "encodingFormat": "application/jsonlines",
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _record_set(path: str, columns: list[str]) -> dict[str, Any]:
    split = path.rpartition("/")[2].partition(".")[0]
    return {
        "@type": "cr:RecordSet",
        "@id": split,
        "name": split,
        "description": f"The tasks of the split {split}, a row each.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{split}/{column}",
                "name": column,
                "description": COLUMNS[column],
                "dataType": "sc:Integer" if column in _INTEGERS else "sc:Text",
                "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
            }
            for column in columns
        ],
    }
