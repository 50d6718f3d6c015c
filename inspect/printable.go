package inspect

import (
	"reflect"
	"time"

	"github.com/rondo-go/rondo/internal/goinspect"
)

// makePrintable replaces in all that v leads to what no text of a program may have on a terminal.
// It is for what JSON is read into: nothing in it leads back.
func makePrintable(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			makePrintable(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			makePrintable(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				makePrintable(v.Field(i))
			}
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString(goinspect.Printable(v.String()))
		}
	}
}
