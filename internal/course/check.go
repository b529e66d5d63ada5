package course

import (
	"context"
	"slices"
	"strings"
)

// Check holds the whole tree against what chapters and exercises claim, and
// returns everything that is wrong. It builds nothing.
func (r *Repo) Check(ctx context.Context) (Problems, error) {
	problems, err := r.CheckStructure(ctx)
	if err != nil {
		return nil, err
	}
	text, err := r.checkText()
	if err != nil {
		return nil, err
	}
	for _, p := range text {
		// Front matter that cannot be read is found by both.
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	return problems, nil
}

// CheckStructure is Check without the text: front matter, outline, ownership,
// import order, exercises, the originals and what mirrors them.
func (r *Repo) CheckStructure(ctx context.Context) (Problems, error) {
	chapters, problems, err := r.Chapters()
	if err != nil {
		return nil, err
	}
	exercises, more, err := r.AllExercises()
	if err != nil {
		return nil, err
	}
	files, err := r.GoFiles()
	if err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	problems = append(problems, agree(r.Outline, chapters)...)
	owners, more := own(files, chapters)
	problems = append(problems, more...)
	problems = append(problems, r.checkExercises(chapters, exercises, owners)...)
	problems = append(problems, r.checkOrder(exercises, files)...)
	if more, err = r.checkImports(files, owners); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	problems = append(problems, checkOriginals(chapters, files)...)
	if more, err = r.checkUpstream(ctx, chapters); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	if more, err = r.checkPages(); err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	more, err = r.checkIgnored(ctx)
	return append(problems, more...), err
}

// checkIgnored proves that `go build ./...` leaves out what compiles only in
// place of another file. The go command knows `ignore` since Go 1.25.
func (r *Repo) checkIgnored(ctx context.Context) (Problems, error) {
	mods, err := r.goMods(ctx)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, dir := range []string{"./exercises", "./my"} {
		found := false
		for _, ignored := range mods["go.mod"].Ignore {
			found = found || ignored.Path == dir
		}
		if !found {
			missing = append(missing, "ignore "+dir)
		}
	}
	var problems Problems
	if len(missing) > 0 {
		problems.add("go.mod lacks %s: the files there compile only in place of a reference file, so `go build ./...` must not see them", strings.Join(missing, " and "))
	}
	return problems, nil
}
