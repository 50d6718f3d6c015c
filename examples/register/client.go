package main

// A client reads and writes the register. It asks all replicas at once, and goes on when
// a majority has answered: any two majorities have a replica in common.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/socket"
)

// A client does one operation at a time.
type client struct {
	name     string // no other client has it, and no earlier life of this one
	number   int64  // of its latest write
	replicas []string
	patience time.Duration // for one question
}

// errNoMajority says that too few replicas have answered in time.
var errNoMajority = errors.New("no majority of the replicas answers")

// read returns what was written last. If it fails, it has changed nothing.
func (c *client) read(ctx context.Context) (string, error) {
	latest, err := c.latest(ctx)
	if err != nil {
		return "", err
	}
	// A write may be under way, and only a few replicas know of it. From here on a
	// majority does, so that no later read returns an older value.
	if latest.number > 0 && !mistakes.noWriteBack {
		if err := c.store(ctx, latest); err != nil {
			return "", err
		}
	}
	return latest.value, nil
}

// write writes a value. If it fails, the value may have been written all the same, or be
// written later.
func (c *client) write(ctx context.Context, value string) error {
	if mistakes.ownClock {
		return c.store(ctx, record{tag{rondo.Now(ctx).UnixNano(), c.name}, value})
	}
	latest, err := c.latest(ctx)
	if err != nil {
		return err
	}
	// A majority may know nothing of the client's write before, if that has failed. Its
	// number is used up all the same: a tag stands for one value.
	c.number = max(c.number, latest.number) + 1
	return c.store(ctx, record{tag{c.number, c.name}, value})
}

// latest returns the record with the highest tag of a majority.
func (c *client) latest(ctx context.Context) (latest record, err error) {
	answers, err := c.ask(ctx, "get")
	if err != nil {
		return latest, err
	}
	for i, text := range answers {
		one, err := parse(text)
		if err != nil {
			return latest, err
		}
		if i == 0 || one.compare(latest.tag) > 0 {
			latest = one
		}
	}
	return latest, nil
}

// store gives a record to a majority.
func (c *client) store(ctx context.Context, one record) error {
	_, err := c.ask(ctx, "put "+one.String())
	return err
}

// ask asks all replicas, again and again, until enough have answered.
func (c *client) ask(ctx context.Context, question string) (answers []string, err error) {
	enough := len(c.replicas)/2 + 1
	if mistakes.minority {
		enough = len(c.replicas) / 2
	}
	err = rondo.Timeout(ctx, c.patience, func(ctx context.Context) error {
		return rondo.Group(ctx, func(g *rondo.Scope) error {
			for _, address := range c.replicas {
				g.Go(func(ctx context.Context) error {
					for {
						answer, err := askOne(ctx, address, question)
						if err == nil {
							if answers = append(answers, answer); len(answers) == enough {
								g.Cancel(nil) // the others are not needed
							}
							return nil
						}
						if err := rondo.Sleep(ctx, 100*time.Millisecond); err != nil {
							return err
						}
					}
				})
			}
			return nil
		})
	})
	if len(answers) >= enough {
		return answers[:enough], nil
	}
	return nil, fmt.Errorf("%w: %w", errNoMajority, err)
}

// askOne asks one replica.
func askOne(ctx context.Context, address, question string) (string, error) {
	c, err := socket.Dial(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, question); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSuffix(answer, "\n"), err
}
