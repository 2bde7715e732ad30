package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// A release is worked on by whoever holds the Lease "toa-<release>" in its
// namespace. The object is there as long as someone works and no longer; its
// holder renews it. One that is left behind is taken away when its holder is
// surely dead (same kernel, process gone) or when it was not renewed for its
// duration by the clock of whoever waits: what clocks of others say is never
// compared with ours.
const (
	leaseDuration = 15 * time.Second
	// beats is how often a lease is renewed in its duration.
	beats = 5
	// glance is how often those who wait look at it.
	glance = 300 * time.Millisecond
	// farewell bounds how long giving a lease up may take.
	farewell = 10 * time.Second

	markAnnotation = "toa.io/process"
)

// leaseName is that of the Lease of a release.
func leaseName(release string) string { return "toa-" + release }

// lease is the right to work on the release, until close or loss.
type lease struct {
	client   coordination.LeaseInterface
	duration time.Duration
	lose     context.CancelCauseFunc
	stop     context.CancelFunc
	stopped  chan struct{}
	// began is when the server made the Lease, by its clock.
	began time.Time

	mu      sync.Mutex // guards what follows
	object  *coordinationv1.Lease
	renewed time.Time // wall clock: it also moves while the machine sleeps
	lost    error
}

// acquire waits until the release is ours, at most for limit, and tells whom it
// waits for. The context that it returns ends when the lease is lost.
func (c *Cluster) acquire(ctx context.Context, limit time.Duration, createNamespace bool, tell func(string)) (context.Context, *lease, error) {
	wait := queued{limit: time.Now().Add(limit), tell: tell}
	for {
		object, err := c.claim(ctx, createNamespace)
		if err == nil {
			ctx, l := c.keep(ctx, object)
			return ctx, l, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return ctx, nil, c.fault("hold "+leaseName(c.Name), err)
		}
		if err := c.await(ctx, &wait); err != nil {
			return ctx, nil, err
		}
	}
}

// claim makes the Lease, and the namespace where that is asked for.
func (c *Cluster) claim(ctx context.Context, createNamespace bool) (*coordinationv1.Lease, error) {
	now := time.Now()
	who, seconds := holder(now), max(1, int32(c.lease/time.Second))
	stamp := metav1.NewMicroTime(now)
	fresh := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName(c.Name), Annotations: map[string]string{markAnnotation: ownMark()}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &who, LeaseDurationSeconds: &seconds, AcquireTime: &stamp, RenewTime: &stamp,
		},
	}
	made, err := c.kube.CoordinationV1().Leases(c.Namespace).Create(ctx, fresh, metav1.CreateOptions{FieldManager: manager})
	if !apierrors.IsNotFound(err) {
		return made, err
	}
	if !createNamespace {
		return nil, &NamespaceError{Namespace: c.Namespace}
	}
	if err := c.createNamespace(ctx); err != nil {
		return nil, err
	}
	return c.kube.CoordinationV1().Leases(c.Namespace).Create(ctx, fresh, metav1.CreateOptions{FieldManager: manager})
}

func (c *Cluster) createNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}
	_, err := c.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// queued is what one who waits has seen and told.
type queued struct {
	limit time.Time
	tell  func(string)
	told  string
	seen  sighting
}

// await looks at the Lease of another and pauses, or takes it away if its
// holder is gone.
func (c *Cluster) await(ctx context.Context, w *queued) error {
	leases := c.kube.CoordinationV1().Leases(c.Namespace)
	held, err := leases.Get(ctx, leaseName(c.Name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return c.fault("look who holds "+leaseName(c.Name), err)
	}
	if surelyDead(held.Annotations[markAnnotation]) || w.seen.stale(held, time.Now(), c.lease) {
		err := leases.Delete(ctx, held.Name, exactly(held.UID, held.ResourceVersion))
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // in a race for it, making a new one decides
		}
		return c.fault("take over "+leaseName(c.Name), err)
	}
	who := identity(held)
	if time.Now().After(w.limit) {
		return &HeldError{Release: c.Name, Holder: who}
	}
	if who != w.told {
		w.told = who
		w.tell("waiting for " + who + ", who is releasing " + c.Name)
	}
	return pause(ctx, glance)
}

// sighting is a state of a Lease, and for how long it was seen unchanged.
type sighting struct {
	uid       types.UID
	version   string
	last      time.Time
	unchanged time.Duration
}

// stale tells whether the Lease has not changed for its duration. The duration
// is the holder's, or usual where it states none. Time in which nobody looked
// counts little: the server may have been away, and the holder not to blame.
func (s *sighting) stale(l *coordinationv1.Lease, now time.Time, usual time.Duration) bool {
	if l.UID != s.uid || l.ResourceVersion != s.version {
		*s = sighting{uid: l.UID, version: l.ResourceVersion, last: now}
		return false
	}
	if l.Spec.LeaseDurationSeconds != nil {
		usual = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	s.unchanged += min(now.Sub(s.last), usual/beats)
	s.last = now
	return s.unchanged > usual
}

func identity(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
		return "someone"
	}
	return *l.Spec.HolderIdentity
}

// exactly deletes one state of an object, and no later one.
func exactly(uid types.UID, version string) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// keep renews a lease until close.
func (c *Cluster) keep(ctx context.Context, object *coordinationv1.Lease) (context.Context, *lease) {
	ctx, lose := context.WithCancelCause(ctx)
	// Renewing goes on when the work is stopped: settling needs the lease too.
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &lease{
		client: c.kube.CoordinationV1().Leases(c.Namespace), duration: c.lease, lose: lose, stop: stop,
		stopped: make(chan struct{}), began: object.CreationTimestamp.Time, object: object, renewed: wall(),
	}
	go l.beat(beating)
	return ctx, l
}

// wall is the time without Go's monotonic part, which stands still while a
// machine sleeps.
func wall() time.Time { return time.Now().Round(0) }

func (l *lease) beat(ctx context.Context) {
	defer close(l.stopped)
	ticker := time.NewTicker(l.duration / beats)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.mu.Lock()
			_ = l.renew(ctx) // an outage is not a loss: the next beat tries again
			l.mu.Unlock()
		}
	}
}

// renew tells the server that we live. The lease is lost when the server says
// that it is another's; mu is held.
func (l *lease) renew(ctx context.Context) error {
	if l.lost != nil {
		return l.lost
	}
	next := l.object.DeepCopy()
	stamp := metav1.NewMicroTime(time.Now())
	next.Spec.RenewTime = &stamp
	renewed, err := l.client.Update(ctx, next, metav1.UpdateOptions{FieldManager: manager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return l.compare(ctx)
	}
	if err != nil {
		return err
	}
	l.object, l.renewed = renewed, wall()
	return nil
}

// compare finds out whether the Lease that stands is still ours.
func (l *lease) compare(ctx context.Context) error {
	standing, err := l.client.Get(ctx, l.object.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		l.lost = &LostError{Lease: l.object.Name}
	case err != nil:
		return err
	case standing.UID != l.object.UID:
		l.lost = &LostError{Lease: l.object.Name, Holder: identity(standing)}
	default:
		l.object = standing // someone wrote into it, which takes nothing away
		return nil
	}
	l.lose(l.lost)
	return l.lost
}

// held returns nil if nobody else can have taken the lease, and asks the server
// where time has passed without news of it. Every write is preceded by it.
func (l *lease) held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil && wall().Sub(l.renewed) < l.duration/2 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.duration)
	defer cancel()
	return l.renew(ctx)
}

// close gives the lease up.
func (l *lease) close() error {
	l.stop()
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(nil)
	if l.lost != nil {
		return l.lost
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := l.client.Delete(ctx, l.object.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(l.object.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("give up %s: %w", l.object.Name, err)
	}
	return nil
}

// HeldError says that another run works on the release.
type HeldError struct{ Release, Holder string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is being released by %s", e.Release, e.Holder)
}

// Hint says what to do.
func (e *HeldError) Hint() string {
	return "wait for it and run again, or raise --timeout, which bounds the waiting"
}

// LostError says that another run has taken the release over because this one
// was taken for dead. Nothing more is written.
type LostError struct{ Lease, Holder string }

func (e *LostError) Error() string {
	if e.Holder == "" {
		return "lease " + e.Lease + " was taken away"
	}
	return fmt.Sprintf("lease %s was taken over by %s", e.Lease, e.Holder)
}

// isLost tells whether the lease is another's.
func isLost(err error) bool {
	var lost *LostError
	return errors.As(err, &lost)
}
