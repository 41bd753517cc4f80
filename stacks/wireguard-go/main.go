// An end of a tunnel of wireguard-go, with the TUN device whose descriptor is in TUN_FD: wireguard-go behind a test bed.
//
//	quell-wireguard-go            the server
//	quell-wireguard-go ADDRESS    the client of the server at ADDRESS
package main

import (
	"bytes"
	"crypto/ecdh"
	"fmt"
	"os"
	"strconv"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
)

const port = 4433

// The device is in another network, where it cannot be asked.
type inside struct{ tun.Device }

func (inside) MTU() (int, error) { return device.DefaultMTU, nil }

// must returns the value, or ends the program with the error.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

// Keys of a test bed, which protect nothing: the same byte 32 times.
func key(of byte) *ecdh.PrivateKey {
	return must(ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{of}, 32)))
}

func main() {
	own, peer, endpoint := key(1), key(2), ""
	if len(os.Args) > 1 {
		own, peer, endpoint = peer, own, fmt.Sprintf("endpoint=%s:%d\n", os.Args[1], port)
	}
	descriptor := must(strconv.Atoi(os.Getenv("TUN_FD")))
	opened, _, err := tun.CreateUnmonitoredTUNFromFD(descriptor)
	tunnel := device.NewDevice(inside{must(opened, err)}, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, ""))
	must(0, tunnel.IpcSet(fmt.Sprintf("private_key=%x\nlisten_port=%d\npublic_key=%x\n%sallowed_ip=0.0.0.0/0\n",
		own.Bytes(), port, peer.PublicKey().Bytes(), endpoint)))
	must(0, tunnel.Up())
	<-tunnel.Wait()
}
