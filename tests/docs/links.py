"""Fails when a link of a document leads to a heading that its target does not have, or when docs/README.md, the
place to start, leads to a document by no way.

    tests/docs/links.py DOCUMENT ...
"""

import os
import re
import sys

LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)")
START = "docs/README.md"


def prose_of(path):
    """The lines of a document outside of its fenced blocks."""
    inside, lines = False, []
    with open(path, encoding="utf-8") as document:
        for line in document:
            if line.startswith("```"):
                inside = not inside
            elif not inside:
                lines.append(line)
    return lines


def anchors_of(path):
    """The anchors of the headings, as GitHub makes them."""
    found = set()
    for line in prose_of(path):
        if line.startswith("#"):
            text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            found.add(text.replace(" ", "-"))
    return found


def links_of(path):
    """Pairs (file, anchor or None) of the links within the tree."""
    for target, anchor in LINK.findall("".join(prose_of(path))):
        file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if file.endswith(".md"):
            yield file, anchor or None


def reached_from(start):
    reached, left = {start}, [start]
    while left:
        for file, _ in links_of(left.pop()):
            if file not in reached and os.path.exists(file):
                reached.add(file)
                left.append(file)
    return reached


def wrong_anchors(documents):
    return [f"{document}: {file} has no heading #{anchor}" for document in documents
            for file, anchor in links_of(document)
            if anchor and (not os.path.exists(file) or anchor not in anchors_of(file))]


def lost(documents, start):
    return [f"{start} leads to {document} by no way" for document in sorted(set(documents) - reached_from(start))]


def main():
    documents = sys.argv[1:]
    wrong = wrong_anchors(documents) + lost(documents, START)
    print("\n".join(wrong) or f"links: {len(documents)} documents, all right")
    sys.exit(1 if wrong or not documents else 0)


if __name__ == "__main__":
    main()
