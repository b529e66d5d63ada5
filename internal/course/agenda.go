package course

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// workshopsFile is the one place that says which chapters a workshop takes.
const workshopsFile = "docs/workshops.yaml"

// workshops are the days of each workshop, and what a day is like. How long a chapter takes is in its chapter.yaml.
type workshops struct {
	Starts    string             `json:"starts"` // "09:00"
	Ends      string             `json:"ends"`   // a day may not be longer
	Break     int                `json:"break"`  // minutes between two chapters
	Lunch     int                `json:"lunch"`  // minutes, in the place of the first break from lunchFrom on
	Workshops map[string][][]int `json:"workshops"`
}

// lunchFrom is the earliest minute of a day at which people want to eat.
const lunchFrom = 11*60 + 30

func (r *Repo) workshops() (w workshops, err error) {
	text, err := r.read(workshopsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("%s does not exist: it says which chapters a workshop takes", workshopsFile)
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &w)
	}
	if err != nil {
		return w, fmt.Errorf("reading %s: %w", workshopsFile, err)
	}
	return w, nil
}

// agenda is the timetable of a workshop, as Markdown tables, one for each day.
func (d *document) agenda(name string) (string, error) {
	w, err := d.repo.workshops()
	if err != nil {
		return "", err
	}
	days, ok := w.Workshops[name]
	if !ok {
		return "", fmt.Errorf("%s has no workshop %q; it has %s", workshopsFile, name, strings.Join(sortedKeys(w.Workshops), ", "))
	}
	starts, err := minuteOf(w.Starts)
	if err != nil {
		return "", err
	}
	ends, err := minuteOf(w.Ends)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, day := range days {
		if len(days) > 1 {
			fmt.Fprintf(&out, "Day %d:\n\n", i+1)
		}
		t, end, err := d.day(w, starts, day)
		if err != nil {
			return "", err
		}
		if end > ends {
			return "", fmt.Errorf("day %d of the workshop %q ends at %s, and may not be longer than %s: take a chapter out in %s", i+1, name, clock(end), clock(ends), workshopsFile)
		}
		out.WriteString(t.Markdown() + "\n")
	}
	return out.String(), nil
}

// day is the table of one day, and the minute at which it ends.
func (d *document) day(w workshops, now int, numbers []int) (t table, end int, err error) {
	t = table{header: []string{"From", "To", "", "Minutes"}}
	add := func(what string, minutes int) {
		t.add(clock(now), clock(now+minutes), what, fmt.Sprint(minutes))
		now += minutes
	}
	eaten := false
	for i, number := range numbers {
		c := slices.IndexFunc(d.chapters, func(c Chapter) bool { return c.Number == number })
		if c < 0 {
			return t, 0, fmt.Errorf("%s takes chapter %d, which does not exist", workshopsFile, number)
		}
		chapter := d.chapters[c]
		add(fmt.Sprintf("%d [%s](%s)", number, chapter.Title, d.relative(chapter.Readme())), chapter.Minutes)
		switch {
		case i == len(numbers)-1:
		case !eaten && now >= lunchFrom:
			add("lunch", w.Lunch)
			eaten = true
		default:
			add("break", w.Break)
		}
	}
	return t, now, nil
}

// minuteOf is the minute of the day.
func minuteOf(text string) (int, error) {
	var hours, minutes int
	if n, err := fmt.Sscanf(text, "%d:%d", &hours, &minutes); n != 2 || err != nil || hours > 23 || minutes > 59 {
		return 0, fmt.Errorf("%s: %q is not a time of day such as \"09:00\"", workshopsFile, text)
	}
	return hours*60 + minutes, nil
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }
