package main

// The keys of rondo top.

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// shown drops what cannot be shown in a line.
func shown(c rune) rune {
	if unicode.IsPrint(c) {
		return c
	}
	return -1
}

func (s *screen) press(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case s.typing:
		return s.typed(key, k.Text)
	case key == "q":
		return tea.Quit
	case s.seek(key):
		if s.history.back == 0 && s.open != (taskKey{}) {
			return s.request() // with the stack
		}
		return nil
	case s.open != (taskKey{}):
		return s.pressedInStack(key)
	case s.beside || key == "g":
		return s.pressedBeside(key)
	case key == "t", key == "esc" && s.times:
		if s.times = !s.times; s.times && s.history.back == 0 {
			return s.request()
		}
		return nil
	case s.times:
		return nil
	}
	switch key {
	case "enter":
		if len(s.rows) == 0 {
			return nil
		}
		s.detail = s.now.detail(s.rows[s.cursor])
		s.open, s.held, s.scroll, s.gone = s.detail.key(), s.detail.key(), 0, false
		if s.history.back > 0 {
			return nil // it shows what it has
		}
		return s.request()
	case "/":
		s.typing = true
	case "esc":
		s.search("")
	case "b":
		s.sort(byBusy)
	case "s":
		s.sort(bySwitches)
	case "a":
		s.sort(byAge)
	case "w":
		s.sort(byWait)
	default:
		s.move(key, &s.cursor, len(s.rows))
	}
	return nil
}

// typed handles a key while the filter is typed.
func (s *screen) typed(key, text string) tea.Cmd {
	switch {
	case key == "enter":
		s.typing = false
	case key == "esc":
		s.typing = false
		s.search("")
	case key == "backspace":
		r := []rune(s.filter)
		s.search(string(r[:max(0, len(r)-1)]))
	case key == "ctrl+u":
		s.search("")
	case text != "":
		s.search(s.filter + strings.Map(shown, text))
	default:
		s.move(key, &s.cursor, len(s.rows))
	}
	return nil
}

// pressedInStack handles a key while a stack is shown.
func (s *screen) pressedInStack(key string) tea.Cmd {
	switch key {
	case "esc", "enter", "backspace":
		s.open, s.detail = taskKey{}, detail{}
	case "f":
		s.full = !s.full
	default:
		s.move(key, &s.scroll, len(s.stack()))
	}
	return nil
}

// pressedBeside handles the key that shows goroutines, and those while they are shown.
func (s *screen) pressedBeside(key string) tea.Cmd {
	switch key {
	case "g", "esc":
		s.beside, s.scroll = !s.beside, 0
		var c tea.Cmd
		if s.beside && s.history.back == 0 {
			c = s.request()
		}
		s.listBeside()
		return c
	case "f":
		s.full = !s.full
		s.listBeside()
	default:
		s.move(key, &s.scroll, len(s.lines))
	}
	return nil
}

// move handles the keys that move within n lines.
func (s *screen) move(key string, at *int, n int) {
	page := max(1, s.room()-1)
	switch key {
	case "up", "k":
		*at--
	case "down", "j":
		*at++
	case "pgup":
		*at -= page
	case "pgdown":
		*at += page
	case "home":
		*at = 0
	case "end":
		*at = n
	default:
		return
	}
	if at == &s.cursor {
		// The cursor follows its task from here on; at the top it stays there, with
		// whichever task comes first.
		s.clamp()
		s.held = taskKey{}
		if s.cursor > 0 {
			s.held = s.row(s.cursor).key()
		}
	}
}

// sort sorts by o, or if it does so already, the other way round.
func (s *screen) sort(o order) {
	s.reversed = s.order == o && !s.reversed
	s.order = o
	s.sortRows()
}

// search shows the tasks whose rows contain the text.
func (s *screen) search(text string) {
	s.filter = text
	s.sortRows()
}
