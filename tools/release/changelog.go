package main

import (
	"errors"
	"regexp"
	"strings"
)

const unreleased = "## Unreleased\n"

// cut gives what isn't released the version's heading, and returns it as the release's notes.
func cut(log, version, date string) (changed, notes string, err error) {
	before, rest, found := strings.Cut(log, unreleased)
	if !found {
		return "", "", errors.New("CHANGELOG.md has no heading \"## Unreleased\": begin one, and say below it what a user notices")
	}
	entries, older := rest, ""
	if next := strings.Index(rest, "\n## "); next >= 0 {
		entries, older = rest[:next+1], rest[next+1:]
	}
	if notes = strings.TrimSpace(entries); notes == "" {
		return "", "", errors.New("CHANGELOG.md has nothing below \"## Unreleased\": there is nothing to release")
	}
	heading := "## " + version + " - " + date + "\n"
	return before + unreleased + "\n" + heading + entries + older, notes + "\n", nil
}

var relative = regexp.MustCompile(`\]\(([^)#:]+[^):]*)\)`)

// absolute makes the links to files of the repository those of a version: the page of a release isn't in the tree.
func absolute(notes, version string) string {
	return relative.ReplaceAllString(notes, "](https://"+mainModule+"/blob/"+version+"/$1)")
}
