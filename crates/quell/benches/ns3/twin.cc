// The scenario of the speed comparison in ns-3: bulk CUBIC downloads over one drop-tail bottleneck.
//
// It leaves out all that quell's model leaves out too, and so is kinder to ns-3 than the usual
// dumbbell: two nodes, whose one link is the bottleneck and the base RTT; no access links, no
// routers, no routing protocol, no queue disc, no traces, no ARP (a point-to-point link has none).
// What the two models do not share:
//   * The queue counts packets with the 2 bytes of PPP that ns-3 puts on the link, so rate and limit
//     are scaled by 1502/1500.
//   * Packets and goodput are read from counters that ns-3 keeps anyway. The queue's delay is that of
//     Little's law, from its length every 10 ms. quell records each packet's delay instead.
//   * TCP is ns-3's: CUBIC with HyStart, SACK, PRR, timestamps, delayed ACK, no RACK, no TLP.
//
// Arguments: flows, rate in bit/s, base RTT in us, queue limit in bytes, warm-up in s, end in s.
// Prints one line of `key=value`.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

using namespace ns3;

namespace
{

const uint32_t SEGMENT = 1448;
const uint64_t PACKET = 1500;
const uint64_t PPP = 2;
const uint16_t PORT = 5001;

/// User time: what the system does for ns-3 is left out.
double
CpuSeconds()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_utime.tv_usec * 1e-6;
}

/// What is counted of the bottleneck and of all receivers.
struct Counters
{
    Ptr<Queue<Packet>> queue;
    ApplicationContainer sinks;
    uint64_t lengths{0};
    uint64_t samples{0};

    /// Packets that left the queue.
    uint64_t Delivered() const
    {
        return queue->GetTotalReceivedPackets() - queue->GetNPackets();
    }

    uint64_t Goodput() const
    {
        uint64_t bytes = 0;
        for (uint32_t sink = 0; sink < sinks.GetN(); sink++)
        {
            bytes += DynamicCast<PacketSink>(sinks.Get(sink))->GetTotalRx();
        }
        return bytes;
    }

    void Sample()
    {
        lengths += queue->GetNBytes();
        samples++;
        Simulator::Schedule(MilliSeconds(10), &Counters::Sample, this);
    }
};

void
Configure()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 7)
    {
        std::fprintf(stderr, "usage: %s FLOWS RATE RTT_US LIMIT WARMUP END\n", argv[0]);
        return 2;
    }
    auto number = [argv](int argument) { return std::strtoull(argv[argument], nullptr, 10); };
    const uint64_t flows = number(1);
    const uint64_t rate = number(2);
    const Time delay = MicroSeconds(number(3)) / 2;
    const uint64_t limit = number(4);
    const Time warmup = Seconds(number(5));
    const Time end = Seconds(number(6));

    Configure();
    NodeContainer nodes(2);
    PointToPointHelper link;
    // Without it there is no queue disc, and no packet vanishes uncounted above a full queue.
    link.DisableFlowControl();
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(BYTES, limit * (PACKET + PPP) / PACKET)));
    NetDeviceContainer devices = link.Install(nodes);
    auto sender = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    auto receiver = DynamicCast<PointToPointNetDevice>(devices.Get(1));
    sender->SetDataRate(DataRate(rate * (PACKET + PPP) / PACKET));
    // Acknowledgements do not queue.
    receiver->SetDataRate(DataRate(1'000'000'000'000));

    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    Counters counters;
    counters.queue = sender->GetQueue();
    for (uint64_t flow = 0; flow < flows; flow++)
    {
        const uint16_t port = PORT + flow;
        BulkSendHelper bulk("ns3::TcpSocketFactory",
                            InetSocketAddress(interfaces.GetAddress(1), port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
        bulk.Install(nodes.Get(0)).Start(MicroSeconds(flow * 7'919 % 40'000));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        counters.sinks.Add(sink.Install(nodes.Get(1)));
    }

    // Nothing before the first event counts.
    const double cpuAtStart = CpuSeconds();
    Simulator::Stop(warmup);
    Simulator::Run();
    const uint64_t deliveredBefore = counters.Delivered();
    const uint64_t goodputBefore = counters.Goodput();
    const uint64_t droppedBefore = counters.queue->GetTotalDroppedPackets();
    counters.Sample();
    Simulator::Stop(end - warmup);
    Simulator::Run();
    const double cpu = CpuSeconds() - cpuAtStart;

    const double span = (end - warmup).GetSeconds();
    const uint64_t measured = counters.Delivered() - deliveredBefore;
    const double meanLength = static_cast<double>(counters.lengths) / counters.samples;
    std::printf("packets=%llu events=%llu cpu_s=%.6f utilisation=%.6f delay_ms=%.4f "
                "goodput_bps=%.0f drop_ratio=%.6f\n",
                static_cast<unsigned long long>(counters.Delivered()),
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                cpu,
                measured * PACKET * 8 / span / rate,
                meanLength * 8e3 / (rate * (PACKET + PPP) / PACKET),
                (counters.Goodput() - goodputBefore) * 8 / span,
                static_cast<double>(counters.queue->GetTotalDroppedPackets() - droppedBefore) /
                    (measured + counters.queue->GetTotalDroppedPackets() - droppedBefore));
    Simulator::Destroy();
    return 0;
}
