package main

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(-1000), "-1,000"}, {count(-100), "-100"},
		{count(uint64(1234567)), "1,234,567"}, {count(int64(100000)), "100,000"},
		{plural(0, "client"), "0 clients"}, {plural(1, "client"), "1 client"}, {plural(1000, "client"), "1,000 clients"},
		{figures(0), "0.00"}, {figures(9.994), "9.99"}, {figures(9.995), "10.0"}, {figures(99.94), "99.9"}, {figures(99.95), "100"}, {figures(12345), "12,345"},
		{size(0), "0 bytes"}, {size(1), "1 byte"}, {size(999), "999 bytes"}, {size(999.6), "1.00 kB"}, {size(1000), "1.00 kB"},
		{size(16777216), "16.8 MB"}, {size(999.6e6), "1.00 GB"}, {size(5e12), "5,000 GB"},
		{brief(0), "0 ns"}, {brief(999), "999 ns"}, {brief(1000), "1.00 µs"}, {brief(999600), "1.00 ms"},
		{brief(12345678), "12.3 ms"}, {brief(1500 * time.Millisecond), "1.50 s"}, {brief(time.Hour), "3,600 s"},
		{long(50 * time.Millisecond), "50.0 ms"}, {long(5 * time.Second), "5 s"}, {long(5012 * time.Millisecond), "5.0 s"},
		{long(59940 * time.Millisecond), "59.9 s"}, {long(59960 * time.Millisecond), "1 min 0 s"},
		{long(time.Minute), "1 min 0 s"}, {long(90 * time.Second), "1 min 30 s"}, {long(59*time.Minute + 59*time.Second), "59 min 59 s"},
		{long(time.Hour - time.Millisecond), "1 h 0 min"}, {long(90 * time.Minute), "1 h 30 min"}, {long(2000 * time.Hour), "2,000 h 0 min"},
		{tenths(2 * time.Second), "2.0 s"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
