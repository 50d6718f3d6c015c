package main

// The flags of a verb are read with package flag, and errors are said in sentences
// of this package.

import (
	"flag"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags of one verb. The zero value has none.
type options struct {
	verb string
	set  flag.FlagSet
	bad  error // what the value of a flag got wrong
}

// number adds a flag that is a whole number between 1 and most. bounds says this
// for people.
func (o *options) number(p *int, name, bounds string, most int) {
	o.add(name, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return usagef("--%s takes %s, not %q", name, bounds, text)
		}
		*p = n
		return nil
	})
}

// span adds a flag that is a length of time, of least or more.
func (o *options) span(p *time.Duration, name string, least time.Duration) {
	o.add(name, func(text string) error {
		d, err := time.ParseDuration(text)
		switch {
		case err == nil && d >= least:
			*p = d
			return nil
		case err == nil && least > 0:
			return usagef("--%s takes a time longer than nothing, such as 5s, not %q", name, text)
		case err == nil:
			return usagef("--%s takes a time that is not negative, such as 5s, not %q", name, text)
		}
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return usagef("--%s takes a time with its unit, such as %ss, not %q", name, strings.TrimPrefix(text, "-"), text)
		}
		return usagef("--%s takes a time such as 5s or 1m30s, not %q", name, text)
	})
}

// text adds a flag whose value check looks at.
func (o *options) text(p *string, name string, check func(text string) error) {
	o.add(name, func(text string) error {
		*p = text
		return check(text)
	})
}

// flag adds a flag without a value.
func (o *options) flag(p *bool, name string) {
	o.set.BoolFunc(name, "", func(text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			o.bad = usagef("--%s takes no value, or true or false, not %q", name, text)
		}
		*p = on
		return o.bad
	})
}

// add adds a flag. What package flag makes of an error of set is not for
// people, so it is kept apart.
func (o *options) add(name string, set func(text string) error) {
	o.set.Func(name, "", func(text string) error {
		o.bad = set(text)
		return o.bad
	})
}

// parse reads the flags at the beginning of args, and returns the rest. The error
// is flag.ErrHelp if that is asked for.
func (o *options) parse(args []string) (rest []string, err error) {
	o.set.Init("", flag.ContinueOnError)
	o.set.SetOutput(io.Discard)
	o.set.Usage = func() {}
	switch err = o.set.Parse(args); {
	case err == nil:
		return o.set.Args(), nil
	case err == flag.ErrHelp:
		return nil, helpAsked{&o.set}
	case o.bad != nil:
		return nil, o.bad
	}
	// It stopped at the flag before the arguments that it did not come to, or at
	// the first of these if it does not look like a flag at all.
	stop := len(args) - o.set.NArg() - 1
	if strings.HasPrefix(err.Error(), "bad flag syntax") {
		stop++
	}
	given, _, _ := strings.Cut(args[stop], "=")
	name := strings.TrimPrefix(strings.TrimPrefix(given, "-"), "-")
	if o.set.Lookup(name) != nil {
		return nil, usagef(`--%s needs a value; "rondo %s --help" says which`, name, o.verb)
	}
	return nil, usagef(`there is no flag %s; "rondo %s --help" lists the flags`, given, o.verb)
}

// given returns which of some flags the command line has, or "".
func (o *options) given(names ...string) (name string) {
	o.set.Visit(func(f *flag.Flag) {
		if name == "" && slices.Contains(names, f.Name) {
			name = f.Name
		}
	})
	return name
}

// parseAll is parse for a verb that takes nothing but flags.
func (o *options) parseAll(args []string) error {
	rest, err := o.parse(args)
	if err != nil {
		return err
	}
	return none(o.verb, rest)
}

// none refuses arguments that a verb does not take.
func none(verb string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef(`%q is one argument too many; "rondo %s --help" shows what it takes`, args[0], verb)
}
