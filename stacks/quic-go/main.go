// A server that sends without end to every client that asks, and a client that reads and discards: quic-go behind a test bed.
//
//	quell-quic-go server ADDRESS [SECONDS] | client ADDRESS
//
// For so many SECONDS after it was asked the server offers 800 bytes each 10 ms.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

// Logs go to the folder QLOGDIR, where it is set.
var settings = &quic.Config{Tracer: qlog.DefaultConnectionTracer}

// must returns the value, or ends the program with the error.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// Of any day, because the clock of a test bed need not show ours.
func certificate() tls.Certificate {
	public, private, _ := ed25519.GenerateKey(rand.Reader)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	encoded := [][]byte{must(x509.CreateCertificate(rand.Reader, &template, &template, public, private))}
	return tls.Certificate{Certificate: encoded, PrivateKey: private}
}

func serve(ctx context.Context, address string, slow time.Duration) {
	config := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{"quell"}}
	for listener := must(quic.ListenAddr(address+":4433", config, settings)); ; {
		connection := must(listener.Accept(ctx))
		go func() {
			stream, err := connection.AcceptStream(ctx)
			block := make([]byte, 65536)
			for begin := time.Now(); err == nil && time.Since(begin) < slow; time.Sleep(10 * time.Millisecond) {
				_, err = stream.Write(block[:800])
			}
			for err == nil {
				_, err = stream.Write(block)
			}
		}()
	}
}

func fetch(ctx context.Context, address string) {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"quell"}}
	if keys, err := os.OpenFile(os.Getenv("SSLKEYLOGFILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		config.KeyLogWriter = keys
	}
	connection := must(quic.DialAddr(ctx, address+":4433", config, settings))
	stream := must(connection.OpenStreamSync(ctx))
	must(stream.Write([]byte{0}))
	must(io.Copy(io.Discard, stream))
}

func main() {
	switch words := append(os.Args[1:], "0", "", ""); words[0] {
	case "server":
		serve(context.Background(), words[1], must(time.ParseDuration(words[2]+"s")))
	case "client":
		fetch(context.Background(), words[1])
	default:
		log.Fatal("usage: quell-quic-go server ADDRESS [SECONDS] | client ADDRESS")
	}
}
