package extensions

import (
	"fmt"

	"toa.io/toa/document"
)

// PortConflictError is a port that two want in one process.
type PortConflictError struct {
	Port          int
	First, Second string // who wants it
	Workload      string // "composition edge", "mono", "service exposition-gateway"
	Position      document.Position
}

func (e *PortConflictError) Error() string {
	return fmt.Sprintf("%s: %s: expected every port to be taken once, found %d taken by %s and by %s",
		e.Position, e.Workload, e.Port, e.First, e.Second)
}

// Hint says how to part them.
func (e *PortConflictError) Hint() string {
	return "state another port, or let one of them run in another composition"
}

// Mistake is true: it is found before anything is touched.
func (*PortConflictError) Mistake() bool { return true }

// claims are the ports of one process.
type claims struct {
	workload  string
	position  document.Position
	taken     map[int]string
	conflicts []error
}

func (c *claims) take(port int, who string) {
	if port == 0 {
		return
	}
	if first, twice := c.taken[port]; twice {
		c.conflicts = append(c.conflicts, &PortConflictError{
			Port: port, First: first, Second: who, Workload: c.workload, Position: c.position,
		})
		return
	}
	c.taken[port] = who
}

// claimed looks whether services fit into one process besides the probe that
// it answers itself, which is nil if it answers none.
func claimed(workload string, position document.Position, probe *Probe, services []Service) []error {
	c := &claims{workload: workload, position: position, taken: map[int]string{}}
	if probe != nil {
		c.take(probe.Port, "the readiness probe")
	}
	for _, s := range services {
		c.take(s.Port, "service "+s.ID())
		if s.Probe != nil && !s.Probe.Off && s.Probe.Port != s.Port {
			c.take(s.Probe.Port, "the readiness probe of service "+s.ID())
		}
	}
	return c.conflicts
}
