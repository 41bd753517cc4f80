// A server that sends without end to every client that asks, and a client that reads and discards: quic-go behind a test bed.
//
//	quell-quic-go server ADDRESS
//	quell-quic-go client ADDRESS
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const port = ":4433"

// Logs go to the folder QLOGDIR, where it is set.
var settings = &quic.Config{Tracer: qlog.DefaultConnectionTracer}

// must returns the value, or ends the program with the error.
func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

// Of any day, because the clock of a test bed need not show ours.
func certificate() tls.Certificate {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(public, err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	encoded := must(x509.CreateCertificate(rand.Reader, &template, &template, public, private))
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: private}
}

func serve(ctx context.Context, address string) {
	config := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{"quell"}}
	listener := must(quic.ListenAddr(address+port, config, settings))
	for {
		connection := must(listener.Accept(ctx))
		go func() {
			stream, err := connection.AcceptStream(ctx)
			for block := make([]byte, 65536); err == nil; {
				_, err = stream.Write(block)
			}
		}()
	}
}

func fetch(ctx context.Context, address string) {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"quell"}}
	if keys, err := os.Create(os.Getenv("SSLKEYLOGFILE")); err == nil {
		config.KeyLogWriter = keys
	}
	connection := must(quic.DialAddr(ctx, address+port, config, settings))
	stream := must(connection.OpenStreamSync(ctx))
	must(stream.Write([]byte{0}))
	must(io.Copy(io.Discard, stream))
}

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "server":
		serve(context.Background(), os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "client":
		fetch(context.Background(), os.Args[2])
	default:
		must(0, fmt.Errorf("usage: quell-quic-go server ADDRESS | client ADDRESS"))
	}
}
