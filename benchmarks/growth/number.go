package growth

import (
	"strconv"
	"strings"
)

// Number is a figure's value with its unit.
func Number(figure string, value float64) string {
	unit := ""
	switch {
	case strings.HasSuffix(figure, "-sec"):
		unit = "s"
	case strings.HasSuffix(figure, "-B"):
		unit = "B"
	}
	if value == 0 {
		return strings.TrimSpace("0 " + unit)
	}
	factor, prefix := scale(value)
	digits := 2
	if value/factor >= 99.95 {
		digits = 0
	} else if value/factor >= 9.995 {
		digits = 1
	}
	if unit == "" && factor == 1 {
		digits = 0
	}
	return strings.TrimSpace(strconv.FormatFloat(value/factor, 'f', digits, 64) + " " + prefix + unit)
}

func scale(value float64) (factor float64, prefix string) {
	for _, step := range []struct {
		factor float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}} {
		if value >= step.factor*0.9995 {
			return step.factor, step.prefix
		}
	}
	return 1e-9, "n"
}
