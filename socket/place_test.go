package socket

import (
	"math/rand/v2"
	"testing"
)

// TestPlacementRepairs: 8 parts have 1,000 connections, in any order of which one ends and one
// comes. However they end, the fullest part has at most a tenth more than the mean, as long as new
// ones come: those go where others have ended.
func TestPlacementRepairs(t *testing.T) {
	const parts, conns, steps = 8, 1000, 60_000 // 10 minutes at 100 a second
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := &Server{parts: make([]*part, parts)}
		for i := range s.parts {
			s.parts[i] = &part{home: s}
		}
		last, of := 0, make([]int, 0, conns) // the part of each connection
		come := func() {
			last = s.least(last)
			s.parts[last].load.Add(1)
			of = append(of, last)
		}
		for range conns {
			come()
		}
		for step := range steps {
			i := r.IntN(conns)
			if seed%2 == 1 && of[i] == 0 { // those of the first part live longer
				i = r.IntN(conns)
			}
			s.parts[of[i]].gone()
			of[i] = of[len(of)-1]
			of = of[:len(of)-1]
			come()
			if most := s.fullest(); float64(most) > 1.1*conns/parts {
				t.Fatalf("seed %d, step %d: %d connections on the fullest, %d on average", seed, step, most, conns/parts)
			}
		}
	}
}

// fullest returns how many connections the fullest part has.
func (s *Server) fullest() (most int64) {
	for _, p := range s.parts {
		most = max(most, p.load.Load())
	}
	return most
}
