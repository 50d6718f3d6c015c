package inspect

import (
	_ "embed"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

//go:embed page.html
var pageText string

// TestContrast: text of the page has a contrast of 4.5 to 1 or more with each background, in light
// and in dark (WCAG 2.2, 1.4.3).
func TestContrast(t *testing.T) {
	light, dark, ok := strings.Cut(pageText, "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("the page has no colors for the dark")
	}
	for name, css := range map[string]string{"light": light, "dark": dark} {
		texts, grounds := colors(css, `[ {]color: `), colors(css, `background: `)
		if len(texts) < 4 || len(grounds) < 2 {
			t.Errorf("%s: found %d colors of text and %d of backgrounds", name, len(texts), len(grounds))
		}
		for _, text := range texts {
			for _, ground := range grounds {
				a, b := luminance(t, text), luminance(t, ground)
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: #%s on #%s has %.1f", name, text, ground, ratio)
				}
			}
		}
	}
}

// colors returns the hexadecimal colors that css sets with a property.
func colors(css, property string) (found []string) {
	for _, m := range regexp.MustCompile(property+`#([0-9a-f]+)`).FindAllStringSubmatch(css, -1) {
		found = append(found, m[1])
	}
	return found
}

// luminance is the relative luminance of a color, as WCAG defines it.
func luminance(t *testing.T, hex string) (sum float64) {
	t.Helper()
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
