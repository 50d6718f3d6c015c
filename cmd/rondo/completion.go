package main

// The verb completion. What it writes is made of the verbs and of the flags that
// each of them has set up when it is asked for help, so it names what there is.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

const completionUsage = `Usage: rondo completion bash|zsh|fish

It prints a script that completes the commands and flags of rondo in that shell:

  bash   source <(rondo completion bash)     in ~/.bashrc
  zsh    rondo completion zsh > _rondo       in a folder of $fpath
  fish   rondo completion fish > rondo.fish  in ~/.config/fish/completions
`

// helpAsked is flag.ErrHelp, and has the flags that there are.
type helpAsked struct{ set *flag.FlagSet }

func (helpAsked) Error() string        { return flag.ErrHelp.Error() }
func (helpAsked) Is(target error) bool { return target == flag.ErrHelp }
func takesNone(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
func takesFile(f *flag.Flag) bool   { return slices.Contains([]string{"core", "exe"}, f.Name) }
func words(of []string) string      { return strings.Join(of, " ") }
func quoted(text, as string) string { return strings.ReplaceAll(text, "'", as) }

// flags returns the flags of the verb, in the order of their names.
func (v verb) flags() (out []*flag.Flag) {
	var asked helpAsked
	if errors.As(v.run(&console{out: io.Discard, err: io.Discard}, []string{"--help"}), &asked) {
		asked.set.VisitAll(func(f *flag.Flag) { out = append(out, f) })
	}
	return out
}

func runCompletion(c *console, args []string) error {
	o := options{verb: "completion"}
	args, err := o.parse(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return usagef("a shell is missing, as in: rondo completion bash")
	}
	if err := none(o.verb, args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "bash":
		return c.print(bashCompletion())
	case "zsh":
		return c.print(zshCompletion())
	case "fish":
		return c.print(fishCompletion())
	}
	return usagef("it knows bash, zsh and fish, not %q", args[0])
}

func verbNames() (out []string) {
	for _, v := range verbs() {
		out = append(out, v.name)
	}
	return out
}

func bashCompletion() string {
	var b strings.Builder
	b.WriteString("# bash completion for rondo\n_rondo() {\n\tlocal current=${COMP_WORDS[COMP_CWORD]} offered\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n")
	fmt.Fprintf(&b, "\t\toffered='%s'\n\telse\n\t\tcase ${COMP_WORDS[1]} in\n", words(verbNames()))
	for _, v := range verbs() {
		var offered []string
		for _, f := range v.flags() {
			offered = append(offered, "--"+f.Name)
		}
		switch v.name {
		case "help":
			offered = verbNames()
		case "completion":
			offered = []string{"bash", "zsh", "fish"}
		}
		fmt.Fprintf(&b, "\t\t%s) offered='%s' ;;\n", v.name, words(offered))
	}
	b.WriteString("\t\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$offered\" -- \"$current\"))\n}\ncomplete -o default -F _rondo rondo\n")
	return b.String()
}

func zshCompletion() string {
	var b strings.Builder
	b.WriteString("#compdef rondo\nlocal -a commands\ncommands=(\n")
	for _, v := range verbs() {
		fmt.Fprintf(&b, "\t'%s:%s'\n", v.name, quoted(v.summary, `'\''`))
	}
	b.WriteString(")\nif (( CURRENT == 2 )); then\n\t_describe command commands\n\treturn\nfi\ncase $words[2] in\n")
	fmt.Fprintf(&b, "help) _values command %s ;;\ncompletion) _values shell bash zsh fish ;;\n", words(verbNames()))
	for _, v := range verbs() {
		flags := v.flags()
		if len(flags) == 0 {
			continue
		}
		b.WriteString(v.name + ") _arguments")
		for _, f := range flags {
			switch {
			case takesNone(f):
				fmt.Fprintf(&b, " '--%s'", f.Name)
			case takesFile(f):
				fmt.Fprintf(&b, " '--%s:file:_files'", f.Name)
			default:
				fmt.Fprintf(&b, " '--%s:value:'", f.Name)
			}
		}
		b.WriteString(" '*:file:_files' ;;\n")
	}
	b.WriteString("esac\n")
	return b.String()
}

func fishCompletion() string {
	var b strings.Builder
	for _, v := range verbs() {
		fmt.Fprintf(&b, "complete -c rondo -f -n __fish_use_subcommand -a %s -d '%s'\n", v.name, quoted(v.summary, `\'`))
		for _, f := range v.flags() {
			value := " -x"
			if takesNone(f) {
				value = ""
			} else if takesFile(f) {
				value = " -rF"
			}
			fmt.Fprintf(&b, "complete -c rondo -n '__fish_seen_subcommand_from %s' -l %s%s\n", v.name, f.Name, value)
		}
	}
	fmt.Fprintf(&b, "complete -c rondo -f -n '__fish_seen_subcommand_from help' -a '%s'\n", words(verbNames()))
	b.WriteString("complete -c rondo -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n")
	return b.String()
}
