package course

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Times are what a chapter's minutes are for, if one person reads it.
type Times struct{ Read, Run, Write int }

// Times shares a chapter's minutes out, in steps of five.
func (r *Repo) Times(c Chapter) (Times, error) {
	w, err := r.workshops()
	if err != nil {
		return Times{}, err
	}
	t := Times{Run: inFives(c.Minutes * w.Shares.Run), Write: inFives(c.Minutes * w.Shares.Write)}
	t.Read = c.Minutes - t.Run - t.Write
	return t, nil
}

// inFives turns minutes times percent into minutes: you don't look at the clock more often.
func inFives(hundredths int) int { return 5 * int(math.Round(float64(hundredths)/500)) }

// Way is a way through the course.
type Way struct {
	Name     string
	Chapters string // "1, 6, 12 without its exercise"
	Then     string // what a reader has then
	Minutes  int
}

// Hours are enough to choose a way by.
func (w Way) Hours() int { return int(math.Round(float64(w.Minutes) / 60)) }

// Ways are those of docs/workshops.yaml.
func (r *Repo) Ways(chapters []Chapter) (ways []Way, err error) {
	w, err := r.workshops()
	if err != nil {
		return nil, err
	}
	for _, from := range w.Ways {
		if len(from.Chapters) == 0 {
			for _, c := range chapters {
				from.Chapters = append(from.Chapters, block{Chapter: c.Number})
			}
		}
		to := Way{Name: from.Way, Chapters: listed(from.Chapters), Then: from.Then}
		for _, b := range from.Chapters {
			c, err := chapterOf(b, chapters)
			if err != nil {
				return nil, err
			}
			to.Minutes += c.Minutes
			if b.Shown {
				to.Minutes -= inFives(c.Minutes * w.Shares.Write)
			}
		}
		ways = append(ways, to)
	}
	return ways, nil
}

// listed writes chapters in a row as "1 to 12".
func listed(blocks []block) string {
	var parts []string
	for i := 0; i < len(blocks); {
		first, end := blocks[i], i+1
		for end < len(blocks) && blocks[end].Chapter == blocks[end-1].Chapter+1 && blocks[end].Shown == first.Shown {
			end++
		}
		text := fmt.Sprint(first.Chapter)
		if end > i+1 {
			text += fmt.Sprintf(" to %d", blocks[end-1].Chapter)
		}
		if first.Shown {
			text += " without its exercise"
		}
		parts, i = append(parts, text), end
	}
	return strings.Join(parts, ", ")
}

func chapterOf(b block, chapters []Chapter) (Chapter, error) {
	i := slices.IndexFunc(chapters, func(c Chapter) bool { return c.Number == b.Chapter })
	if i < 0 {
		return Chapter{}, fmt.Errorf("%s takes chapter %d, which does not exist", workshopsFile, b.Chapter)
	}
	return chapters[i], nil
}

func (d *document) ways() (string, error) {
	ways, err := d.repo.Ways(d.chapters)
	if err != nil {
		return "", err
	}
	t := table{header: []string{"", "Chapters", "Hours", "Then"}}
	for _, w := range ways {
		t.add(w.Name, w.Chapters, fmt.Sprint(w.Hours()), w.Then)
	}
	return t.Markdown(), nil
}

// writtenTable has what a reader has written, and the hours that it takes.
func (d *document) writtenTable() (string, error) {
	w, err := d.repo.workshops()
	if err != nil {
		return "", err
	}
	t := table{header: []string{"", "Hours"}}
	after := 0
	for _, row := range w.Written {
		if _, err := chapterOf(row.block, d.chapters); err != nil {
			return "", err
		}
		var these Way
		for _, c := range d.chapters {
			if after < c.Number && c.Number <= row.Chapter {
				these.Minutes += c.Minutes
			}
		}
		t.add(row.What, fmt.Sprint(these.Hours()))
		after = row.Chapter
	}
	return t.Markdown(), nil
}
