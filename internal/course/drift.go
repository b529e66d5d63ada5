package course

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/loopwright/loopwright/internal/course/drift"
)

// DriftOptions are those of `course drift`.
type DriftOptions struct {
	// Modules to compare, as in "k8s.io/client-go@v0.38.0", or without a version for the newest release. None means all
	// that the chapters mention.
	Modules []string
	// Diff shows what has changed in each declaration.
	Diff bool
}

// Drift compares the originals that the chapters mention with another version of their modules, declaration by
// declaration, and writes which chapters to read again. drifted is whether there are any.
//
// Errors: a module that no chapter mentions, a version that does not exist, or one that cannot be had without a network.
func (r *Repo) Drift(ctx context.Context, options DriftOptions, w io.Writer) (drifted bool, err error) {
	chapters, err := r.written()
	if err != nil {
		return false, err
	}
	targets, err := r.driftTargets(ctx, chapters, options.Modules)
	if err != nil {
		return false, err
	}
	comparisons := map[string]*drift.Versions{}
	versions := map[string]driftTarget{}
	for _, t := range targets {
		versions[t.module] = t
		if comparisons[t.module], err = r.sourcesOf(ctx, t); err != nil {
			return false, err
		}
	}
	report := driftReport{targets: targets, diff: options.Diff}
	for _, c := range chapters {
		mentioned, err := r.mentions(c)
		if err != nil {
			return false, fmt.Errorf("reading what chapter %d mentions: %w", c.Number, err)
		}
		for _, u := range c.Upstream {
			with := comparisons[u.Module]
			if with == nil {
				continue
			}
			changes, isGone, err := with.File(u.File)
			if err != nil {
				return false, err
			}
			if len(changes) > 0 || isGone {
				report.drifts = append(report.drifts, newDrifted(c, versions[u.Module], u.File, isGone, changes, mentioned))
			}
		}
	}
	_, err = io.WriteString(w, report.String())
	return len(report.drifts) > 0, err
}

func (r *Repo) sourcesOf(ctx context.Context, t driftTarget) (*drift.Versions, error) {
	before, err := r.moduleDir(ctx, t.module, t.from)
	if err != nil {
		return nil, err
	}
	after, err := r.moduleDir(ctx, t.module, t.to)
	if err != nil {
		return nil, err
	}
	return drift.Between(t.module+" "+t.from, before, after), nil
}

// mentions reads all texts of a chapter.
func (r *Repo) mentions(c Chapter) (drift.Mentions, error) {
	texts, err := r.Texts(c)
	if err != nil {
		return nil, err
	}
	found := drift.Mentions{}
	for _, name := range texts {
		text, err := r.read(name)
		if err != nil {
			return nil, err
		}
		found.Read(path.Base(name), string(text))
	}
	return found, nil
}

// drifted is an original that has changed, and the chapter that mentions it.
type drifted struct {
	chapter Chapter
	target  driftTarget
	file    string
	isGone  bool // there is no such file any more
	changes []mentionedChange
}

type mentionedChange struct {
	drift.Change
	places []drift.Place // that mention it
}

// newDrifted puts the declarations first that the text mentions: it is these sentences that may be wrong now.
func newDrifted(c Chapter, t driftTarget, file string, isGone bool, changes []drift.Change, text drift.Mentions) drifted {
	d := drifted{chapter: c, target: t, file: file, isGone: isGone}
	for _, change := range changes {
		d.changes = append(d.changes, mentionedChange{change, text.Of(change.Name)})
	}
	slices.SortStableFunc(d.changes, func(a, b mentionedChange) int {
		return min(len(b.places), 1) - min(len(a.places), 1)
	})
	return d
}

// driftReport is what `course drift` says.
type driftReport struct {
	targets []driftTarget
	drifts  []drifted
	diff    bool
}

func (r driftReport) String() string {
	var out strings.Builder
	versions := table{header: []string{"module", "chapters", "compared with"}}
	for _, t := range r.targets {
		to := t.to
		if t.to == t.from {
			to = "the same: there is no newer release"
			if t.isNamed {
				to = "the same"
			}
		}
		versions.add(t.module, t.from, to)
	}
	out.WriteString(versions.String() + "\n")
	if len(r.drifts) == 0 {
		out.WriteString("Nothing that the chapters mention has drifted.\n")
		return out.String()
	}
	t := table{header: []string{"chapter to read again", "original", "declarations", "of these, the text mentions"}}
	last := 0
	for _, d := range r.drifts {
		name := ""
		if d.chapter.Number != last {
			name = fmt.Sprintf("%2d %s", d.chapter.Number, d.chapter.Title)
		}
		last = d.chapter.Number
		t.add(name, d.original(), d.count(), d.mentioned())
	}
	out.WriteString(t.String())
	for _, d := range r.drifts {
		d.write(&out, r.diff)
	}
	return out.String()
}

func (d drifted) original() string {
	if d.isGone {
		return d.file + " (gone)"
	}
	return d.file
}

// count is such as "3: 2 changed, 1 moved".
func (d drifted) count() string {
	var parts []string
	for kind := drift.Changed; kind <= drift.Added; kind++ {
		n := 0
		for _, c := range d.changes {
			if c.Kind == kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return fmt.Sprintf("%d: %s", len(d.changes), strings.Join(parts, ", "))
}

func (d drifted) mentioned() string {
	var names []string
	for _, c := range d.changes {
		if len(c.places) > 0 {
			names = append(names, c.Name)
		}
	}
	const most = 3
	switch left := len(names) - most; {
	case names == nil:
		return "none"
	case left > 1: // all of them are in the list below
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), left)
	default:
		return strings.Join(names, ", ")
	}
}

// write lists every declaration, and where the text mentions it.
func (d drifted) write(out *strings.Builder, diff bool) {
	fmt.Fprintf(out, "\n%s: %s in %s %s -> %s\n", d.chapter.Dir, d.original(), d.target.module, d.target.from, d.target.to)
	for _, c := range d.changes {
		fmt.Fprintf(out, "  %-7s  %s", c.Kind, c.Name)
		switch {
		case c.Kind == drift.Moved:
			fmt.Fprintf(out, ", to %s", c.File)
		case c.File != "":
			fmt.Fprintf(out, ", from %s", c.File)
		}
		if c.File != "" && c.Differs() {
			out.WriteString(", and changed")
		}
		if len(c.places) > 0 {
			fmt.Fprintf(out, " (mentioned in %s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(c.places), " ", ", "), "[]"))
		}
		out.WriteByte('\n')
		if diff && c.Before != "" && c.After != "" && c.Differs() {
			out.WriteString(indent(strings.TrimSpace(unified(c.Name+" "+d.target.from, c.Name+" "+d.target.to, c.Before, c.After)), "      ") + "\n")
		}
	}
}
