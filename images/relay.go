package images

import "io"

// relay hands what is written to it on to another writer in a goroutine of its
// own: one core reads files while another compresses what was read.
type relay struct {
	*io.PipeWriter
	ended chan struct{} // closed when err stands
	err   error
}

// newRelay hands on through buffer, which is the relay's until Close returns.
func newRelay(to io.Writer, buffer []byte) *relay {
	from, in := io.Pipe()
	r := &relay{PipeWriter: in, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		_, r.err = io.CopyBuffer(to, from, buffer)
		_ = from.CloseWithError(r.err) // who writes on learns of it
	}()
	return r
}

// Close returns when all that was written is handed on, or could not be. It may
// be called again.
func (r *relay) Close() error {
	_ = r.PipeWriter.Close() // it always succeeds
	<-r.ended
	return r.err
}
