package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// startEtcd returns when etcd is ready. Its data do not survive the machine:
// nothing waits for the disk.
func startEtcd(ctx context.Context, dir string) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "etcd")
	config.UnsafeNoFsync = true
	config.TickMs, config.ElectionMs = 50, 250
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if err := listenOnLoopback(config); err != nil {
		return nil, err
	}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return etcd, nil
	case err = <-etcd.Err():
	case <-time.After(time.Minute):
		err = fmt.Errorf("not ready after a minute")
	case <-ctx.Done():
		err = ctx.Err()
	}
	etcd.Close()
	return nil, err
}

// listenOnLoopback finds free ports: etcd must know its addresses before it
// listens. Peers there are none, but it insists on an address for them.
func listenOnLoopback(config *embed.Config) error {
	clients, err := freeAddress()
	if err != nil {
		return err
	}
	peers, err := freeAddress()
	if err != nil {
		return err
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	config.ListenPeerUrls, config.AdvertisePeerUrls = peers, peers
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return nil
}

func freeAddress() ([]url.URL, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	return []url.URL{{Scheme: "http", Host: listener.Addr().String()}}, listener.Close()
}

func endpoint(etcd *embed.Etcd) string { return "http://" + etcd.Clients[0].Addr().String() }
