#!/usr/bin/env python3
"""Follows the links between the files of a built site: links.py FOLDER.

Each href and src of each page has to name a file below FOLDER, and a fragment an element of that
page. Links to the network are left alone, and so is the page for printing, which repeats all
others.
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links of a page, the names of its elements, and whether it leads to another page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.leads_on = [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if value is None:
                continue
            if name in ("href", "src"):
                self.links.append(value)
            elif name in ("id", "name"):
                self.names.add(value)
            elif name == "http-equiv" and value == "refresh":
                self.leads_on = True


def dead_links(root):
    """The links that lead nowhere, as pairs of page and link, and the number of links followed."""
    pages = {file.resolve(): Page(file.read_text()) for file in sorted(root.rglob("*.html"))}
    dead, followed = [], 0
    for file, page in pages.items():
        if file.name in ("print.html", "404.html"):
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            fragment = urllib.parse.unquote(parts.fragment)
            there = target.exists() and target.is_relative_to(root)
            shown = pages.get(target)
            if shown and fragment and not shown.leads_on:
                there = fragment in shown.names
            if not there:
                dead.append((file.relative_to(root), link))
    return dead, followed


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("usage: links.py FOLDER, a folder with a built site")
    dead, followed = dead_links(pathlib.Path(sys.argv[1]).resolve())
    for page, link in dead:
        print(f"{page}: nothing is at {link}")
    print(f"links: {followed} followed, {len(dead)} dead")
    sys.exit(1 if dead or not followed else 0)


main()
