// A server that sends a client video at the rate that Google's control estimates, and a client that reports each packet (RFC 8888): pion's
// interceptors over plain RTP, without keys, behind a test bed.
//
//	quell-pion server|client|ccfb ADDRESS
//
// pion sets no ECN, and its control does not heed CE: ECT(0) is set here, so that there is something to report.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/gcc"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const ect0 = 2

// must returns the value, or ends the program with the error.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// open gives a socket with an option of IP.
func open(address string, option, value int) *net.UDPConn {
	settings := net.ListenConfig{Control: func(_, _ string, system syscall.RawConn) error {
		return system.Control(func(file uintptr) { must(0, syscall.SetsockoptInt(int(file), syscall.IPPROTO_IP, option, value)) })
	}}
	return must(settings.ListenPacket(context.Background(), "udp4", address)).(*net.UDPConn)
}

// serve sends to the first client that asks, in packets of 1,200 bytes, 30 frames a second.
func serve(socket *net.UDPConn) {
	buffer := make([]byte, 2_000)
	_, client, err := socket.ReadFromUDPAddrPort(buffer)
	must(0, err)
	control := must(gcc.NewSendSideBWE(gcc.SendSideBWEInitialBitrate(1_000_000)))
	header := rtp.Header{Version: 2, PayloadType: 96, SSRC: 1}
	pacer := control.AddStream(&interceptor.StreamInfo{SSRC: header.SSRC}, interceptor.RTPWriterFunc(
		func(header *rtp.Header, payload []byte, _ interceptor.Attributes) (int, error) {
			return socket.WriteToUDPAddrPort(must((&rtp.Packet{Header: *header, Payload: payload}).Marshal()), client)
		}))
	go func() {
		for {
			must(0, control.WriteRTCP(must(rtcp.Unmarshal(buffer[:must(socket.Read(buffer))])), nil))
		}
	}()
	for range time.Tick(time.Second / 30) {
		header.Timestamp += 3_000
		for left := control.GetTargetBitrate() / 8 / 30; left > 0; left -= 1_200 {
			header.SequenceNumber++
			must(pacer.Write(&header, make([]byte, min(left, 1_200)), nil))
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: quell-pion server|client|ccfb ADDRESS")
	}
	switch role, address := os.Args[1], os.Args[2]+":4433"; role {
	case "server":
		serve(open(address, syscall.IP_TOS, ect0))
	default:
		receive(open("", syscall.IP_RECVTOS, 1), must(net.ResolveUDPAddr("udp4", address)), role == "ccfb")
	}
}
