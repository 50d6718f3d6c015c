package main

// Numbers as people read them: digits in threes, a unit that
// suits the size, three figures that mean something.

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// count writes n with its digits in threes.
func count[N ~int | ~int64 | ~uint64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// plural writes n and the noun, in the form that goes with it.
func plural[N ~int | ~int64 | ~uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// figures writes v with three figures, or all those before the point.
func figures(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return count(int64(math.Round(v)))
}

// size writes a number of bytes.
func size(bytes float64) string {
	if bytes < 999.5 {
		return plural(int64(math.Round(bytes)), "byte")
	}
	units := []string{"kB", "MB", "GB"}
	for i, unit := range units {
		if bytes /= 1000; bytes < 999.5 || i == len(units)-1 {
			return figures(bytes) + " " + unit
		}
	}
	panic("unreachable")
}

// brief writes a time of microseconds or milliseconds.
func brief(d time.Duration) string {
	v := float64(d)
	for _, unit := range []string{"ns", "µs", "ms"} {
		if v < 999.5 {
			if unit == "ns" {
				return fmt.Sprintf("%d ns", d)
			}
			return figures(v) + " " + unit
		}
		v /= 1000
	}
	return figures(v) + " s"
}

// long writes a time that somebody waited.
func long(d time.Duration) string {
	switch {
	case d < time.Second:
		return brief(d)
	case d < time.Minute && d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Minute-50*time.Millisecond:
		return tenths(d)
	case d < time.Hour-time.Second/2:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%s h %d min", count(int64(d/time.Hour)), d%time.Hour/time.Minute)
}

// tenths writes a time in tenths of a second, also if there are none.
func tenths(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// short writes a time in three digits or so, as snapshots do.
func short(d time.Duration) string {
	switch a := d.Abs(); {
	case a < time.Microsecond:
		return d.String()
	case a < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case a < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case a < time.Second:
		return d.Round(time.Millisecond).String()
	case a < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// stretch writes a time in six characters at most, if it is under 270 years.
func stretch(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Hour-time.Second/2:
		return short(d)
	case d < 24*time.Hour-time.Minute/2:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d < 100*24*time.Hour-time.Hour/2:
		d = d.Round(time.Hour)
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// rate writes how often a second something happens, in seven characters at most.
func rate(known bool, v float64) string {
	switch {
	case !known:
		return "-"
	case v == 0:
		return "0"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v < 999_999.5:
		return count(int64(math.Round(v)))
	}
	return figures(v/1e6) + "M"
}
