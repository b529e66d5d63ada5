package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/loopwright/loopwright/internal/figures"
)

// draw draws what was measured as curves, one for each queue.
func draw(data, path string) error {
	curves, err := read(data)
	if err != nil {
		return fmt.Errorf("reading %s: %w", data, err)
	}
	most := 0.0
	for _, points := range curves {
		for _, p := range points {
			most = max(most, p.millions)
		}
	}
	most = math.Ceil(most)

	picture := figures.New(440, "Throughput of work queues",
		"Curves of the items a second that go through four work queues, over 1 to 100 workers. The figures are in throughput.csv.")
	picture.Text("head", 20, 32, "Throughput of work queues")
	picture.Text("dim", 20, 54, "million items a second")
	const left, right, top, bottom = 50.0, 612.0, 120.0, 388.0
	x := func(workers float64) float64 {
		return left + (right-left)*math.Log(workers)/math.Log(float64(slices.Max(workerCounts)))
	}
	y := func(millions float64) float64 { return bottom - (bottom-top)*millions/most }
	for millions := 0.0; millions <= most; millions++ {
		picture.Line("grid", left, y(millions), right, y(millions))
		picture.Text("small dim end", left-10, y(millions)+5, fmt.Sprint(millions))
	}
	for _, n := range workerCounts {
		picture.Text("small dim middle", x(float64(n)), bottom+20, strconv.Itoa(n))
	}
	picture.Text("dim middle", (left+right)/2, 430, "workers")
	for i, t := range titles {
		var line []float64
		for _, p := range curves[t.name] {
			line = append(line, x(p.workers), y(p.millions))
			picture.Dot(t.class, x(p.workers), y(p.millions))
		}
		picture.Line("thick "+t.class, line...)
		labelX, labelY := 20+240*float64(i%2), 80+22*float64(i/2)
		picture.Line("thick "+t.class, labelX, labelY-5, labelX+28, labelY-5)
		picture.Text("", labelX+36, labelY, t.title)
	}
	return os.WriteFile(path, []byte(picture.String()), 0o644)
}

type point struct{ workers, millions float64 }

// read reads the points of each queue.
func read(data string) (map[string][]point, error) {
	file, err := os.Open(data)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	curves := map[string][]point{}
	for _, row := range rows[1:] {
		n, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return nil, err
		}
		perSecond, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return nil, err
		}
		curves[row[0]] = append(curves[row[0]], point{n, perSecond / 1e6})
	}
	return curves, nil
}
