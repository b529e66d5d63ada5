package course

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"sigs.k8s.io/yaml"
)

// workshopsFile is the one place that says what the days of a workshop are made of.
const workshopsFile = "docs/workshops.yaml"

// workshops are the days of each workshop, and what a day is like. How long a chapter takes one
// reader is in its chapter.yaml.
type workshops struct {
	Starts    string               `json:"starts"`  // "09:00"
	Ends      string               `json:"ends"`    // a day may not be longer
	Sitting   int                  `json:"sitting"` // minutes without a break, at most
	Break     int                  `json:"break"`   // minutes
	Lunch     int                  `json:"lunch"`   // minutes, at the first chance from lunchFrom on
	Class     float64              `json:"class"`   // how much longer a class takes than one reader
	Shares    shares               `json:"shares"`  // of a chapter's minutes, in percent
	Workshops map[string][][]block `json:"workshops"`

	// For one reader:
	Written []struct { // what the course adds up to
		block        // up to this chapter
		What  string `json:"what"`
	} `json:"written"`
	Ways []struct {
		Way      string  `json:"way"`
		Chapters []block `json:"chapters"` // all, if there are none
		Then     string  `json:"then"`     // what a reader has then
	} `json:"ways"`
}

// shares are what the minutes of a chapter are for.
type shares struct {
	Tell    int `json:"tell"`
	Predict int `json:"predict"`
	Run     int `json:"run"`
	Write   int `json:"write"`
}

// block is a chapter, or something else that a class does.
type block struct {
	Chapter int    `json:"chapter"`
	Shown   bool   `json:"shown"` // the chapter without its exercise
	Do      string `json:"do"`
	Minutes int    `json:"minutes"` // of what is no chapter
}

// lunchFrom is the earliest minute of a day at which people want to eat.
const lunchFrom = 11*60 + 30

func (r *Repo) workshops() (w workshops, err error) {
	text, err := r.read(workshopsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("%s does not exist: it says what a workshop is made of", workshopsFile)
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &w)
	}
	s := w.Shares
	if sum := s.Tell + s.Predict + s.Run + s.Write; err == nil && sum != 100 {
		err = fmt.Errorf("the shares of a chapter make %d percent, and must make 100", sum)
	}
	if err == nil && w.Class < 1 {
		err = fmt.Errorf("class is %v, and no class is quicker than one reader", w.Class)
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
		return "", fmt.Errorf("%s has no workshop %q; it has %s",
			workshopsFile, name, strings.Join(sortedKeys(w.Workshops), ", "))
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
	for i, blocks := range days {
		if len(days) > 1 {
			fmt.Fprintf(&out, "Day %d:\n\n", i+1)
		}
		parts, err := d.parts(w, blocks)
		if err != nil {
			return "", err
		}
		t, end := w.day(starts, parts)
		if end > ends {
			return "", fmt.Errorf("day %d of the workshop %q ends at %s, and may not be longer than %s: "+
				"take a chapter out in %s", i+1, name, clock(end), clock(ends), workshopsFile)
		}
		out.WriteString(t.Markdown() + "\n")
	}
	return out.String(), nil
}

// part is what a class does without a break: a row of the table.
type part struct {
	what    string
	minutes shares
	other   int // minutes of what is no chapter
}

func (p part) length() int {
	return p.minutes.Tell + p.minutes.Predict + p.minutes.Run + p.minutes.Write + p.other
}

// parts makes one part of what is no chapter, and two of a chapter: there may be a break before
// people write.
func (d *document) parts(w workshops, blocks []block) (parts []part, err error) {
	for _, b := range blocks {
		if b.Chapter == 0 {
			parts = append(parts, part{what: b.Do, other: b.Minutes})
			continue
		}
		chapter, err := chapterOf(b, d.chapters)
		if err != nil {
			return nil, err
		}
		all := w.minutes(chapter)
		write := shares{Write: all.Write}
		all.Write = 0
		title := fmt.Sprintf("%d [%s](%s)", b.Chapter, chapter.Title, d.relative(chapter.Readme()))
		parts = append(parts, part{what: title, minutes: all})
		if !b.Shown {
			parts = append(parts, part{what: fmt.Sprintf("%d: exercise", b.Chapter), minutes: write})
		}
	}
	return parts, nil
}

// minutes are those that a class needs for a chapter.
func (w workshops) minutes(c Chapter) shares {
	share := func(percent int) int { return inFives(int(math.Round(float64(c.Minutes*percent) * w.Class))) }
	s := w.Shares
	return shares{share(s.Tell), share(s.Predict), share(s.Run), share(s.Write)}
}

// day is the table of one day, and the minute at which it ends. There is a break before a part that
// would make people sit for too long.
func (w workshops) day(now int, parts []part) (t table, end int) {
	t = table{header: []string{"From", "To", "", "Tell", "Predict", "Run", "Write"}}
	sat, eaten := 0, false
	add := func(p part) {
		row := []string{clock(now), clock(now + p.length()), p.what}
		m := p.minutes
		for _, minutes := range []int{m.Tell, m.Predict, m.Run, m.Write} {
			cell := ""
			if minutes > 0 {
				cell = fmt.Sprint(minutes)
			}
			row = append(row, cell)
		}
		t.add(row...)
		now += p.length()
		sat += p.length()
	}
	for i, p := range parts {
		switch {
		case i == 0:
		case !eaten && now >= lunchFrom:
			add(part{what: "lunch", other: w.Lunch})
			sat, eaten = 0, true
		case sat+p.length() > w.Sitting:
			add(part{what: "break", other: w.Break})
			sat = 0
		}
		add(p)
	}
	return t, now
}

// minuteOf is the minute of the day.
func minuteOf(text string) (int, error) {
	var hours, minutes int
	n, err := fmt.Sscanf(text, "%d:%d", &hours, &minutes)
	if n != 2 || err != nil || hours > 23 || minutes > 59 {
		return 0, fmt.Errorf("%s: %q is not a time of day such as \"09:00\"", workshopsFile, text)
	}
	return hours*60 + minutes, nil
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }
