package trap

import "os"

// A Delivery is one signal that came. Each trap that was set for it holds it until
// the trap calls Use or Return. If all have returned it and nobody has used it, it
// goes to the traps that are set now, or else to the system.
type Delivery struct {
	Sig os.Signal

	holders int
	used    bool // by one of them
}

// Use says that this holder has dealt with the signal, or has dropped it. Any
// goroutine may call it.
func (d *Delivery) Use() { d.end(true) }

// Return says that this holder wants the signal to act as if the trap had not been
// there. Any goroutine may call it.
func (d *Delivery) Return() { d.end(false) }

func (d *Delivery) end(used bool) {
	mu.Lock()
	d.used = d.used || used
	d.holders--
	again := d.holders == 0 && !d.used
	mu.Unlock()
	if again {
		hand(&Delivery{Sig: d.Sig}, nil)
	}
}
