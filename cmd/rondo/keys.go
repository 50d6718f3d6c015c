package main

// This file has what the keys do to a board.

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

func (b *board) press(k tea.KeyPressMsg) tea.Cmd {
	key := k.String()
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case b.typing:
		return b.typed(key, k.Text)
	case key == "q":
		return tea.Quit
	case b.travel(key):
		if b.past.back == 0 && b.open != (badge{}) {
			return b.shoot() // with the stack
		}
		return nil
	case b.open != (badge{}):
		return b.pressedInStack(key)
	}
	switch key {
	case "enter":
		if len(b.rows) == 0 {
			return nil
		}
		b.detail = b.rows[b.cursor]
		b.open, b.held, b.scroll, b.gone = b.detail.badge(), b.detail.badge(), 0, false
		if b.past.back > 0 {
			return nil // it shows what it has
		}
		return b.shoot()
	case "/":
		b.typing = true
	case "esc":
		b.search("")
	case "b":
		b.sort(byBusy)
	case "s":
		b.sort(bySwitches)
	case "a":
		b.sort(byAge)
	case "w":
		b.sort(byWait)
	default:
		b.move(key, &b.cursor, len(b.rows))
	}
	return nil
}

// typed handles a key while the filter is typed.
func (b *board) typed(key, text string) tea.Cmd {
	switch {
	case key == "enter":
		b.typing = false
	case key == "esc":
		b.typing = false
		b.search("")
	case key == "backspace":
		r := []rune(b.filter)
		b.search(string(r[:max(0, len(r)-1)]))
	case key == "ctrl+u":
		b.search("")
	case text != "":
		b.search(b.filter + strings.Map(shown, text))
	default:
		b.move(key, &b.cursor, len(b.rows))
	}
	return nil
}

// pressedInStack handles a key while a stack is shown.
func (b *board) pressedInStack(key string) tea.Cmd {
	switch key {
	case "esc", "enter", "backspace":
		b.open, b.detail = badge{}, meter{}
	case "f":
		b.full = !b.full
	default:
		b.move(key, &b.scroll, len(b.stack()))
	}
	return nil
}

// move handles the keys that move within n lines.
func (b *board) move(key string, at *int, n int) {
	page := max(1, b.room()-1)
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
	if at == &b.cursor {
		// The cursor follows its task from here on; at the top it stays there, with
		// whichever task comes first.
		b.settle()
		b.held = badge{}
		if b.cursor > 0 {
			b.held = b.rows[b.cursor].badge()
		}
	}
}

// sort sorts by o, or if it does so already, the other way round.
func (b *board) sort(o order) {
	b.reversed = b.order == o && !b.reversed
	b.order = o
	b.arrange()
}

// search shows the tasks whose rows contain the text.
func (b *board) search(text string) {
	b.filter = text
	b.arrange()
}
