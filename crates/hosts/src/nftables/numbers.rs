//! Numbers of nf_tables by the kernel's names.
//!
//! Attributes and messages: include/uapi/linux/netfilter/nf_tables.h. Hooks, families and verdicts: include/uapi/linux/netfilter.h.
//! Batches: include/uapi/linux/netfilter/nfnetlink.h. Priorities: include/uapi/linux/netfilter_ipv4.h. Flags of messages:
//! include/uapi/linux/netlink.h.

/// enum nf_tables_msg_types, in the subsystem of nf_tables.
pub(crate) const NFNL_SUBSYS_NFTABLES: u16 = 10;
pub(crate) const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
pub(crate) const NFNL_MSG_BATCH_END: u16 = 0x11;
pub(crate) const NFT_MSG_NEWTABLE: u16 = NFNL_SUBSYS_NFTABLES << 8;
pub(crate) const NFT_MSG_NEWCHAIN: u16 = NFNL_SUBSYS_NFTABLES << 8 | 3;
pub(crate) const NFT_MSG_GETCHAIN: u16 = NFNL_SUBSYS_NFTABLES << 8 | 4;
pub(crate) const NFT_MSG_NEWRULE: u16 = NFNL_SUBSYS_NFTABLES << 8 | 6;

pub(crate) const NLM_F_REQUEST: u16 = 1;
pub(crate) const NLM_F_ACK: u16 = 4;
pub(crate) const NLM_F_DUMP: u16 = 0x300;
pub(crate) const NLM_F_CREATE: u16 = 0x400;
pub(crate) const NLM_F_APPEND: u16 = 0x800;
pub(crate) const NLMSG_ERROR: u16 = 2;
pub(crate) const NLMSG_DONE: u16 = 3;
pub(crate) const NLA_F_NESTED: u16 = 0x8000;
/// Without NLA_F_NESTED and NLA_F_NET_BYTEORDER.
pub(crate) const NLA_TYPE_MASK: u16 = 0x3fff;

pub(crate) const NFPROTO_INET: u8 = 1;
pub(crate) const NFPROTO_IPV4: u8 = 2;
pub(crate) const NFPROTO_IPV6: u8 = 10;

pub(crate) const NF_INET_PRE_ROUTING: u32 = 0;
pub(crate) const NF_INET_FORWARD: u32 = 2;
pub(crate) const NF_INET_POST_ROUTING: u32 = 4;
pub(crate) const NF_IP_PRI_MANGLE: i32 = -150;
pub(crate) const NF_IP_PRI_NAT_SRC: i32 = 100;

pub(crate) const NF_DROP: u32 = 0;
pub(crate) const NF_ACCEPT: u32 = 1;

/// enum nft_registers.
pub(crate) const NFT_REG_VERDICT: u32 = 0;
pub(crate) const NFT_REG_1: u32 = 1;

/// enum nft_table_attributes and enum nft_table_flags.
pub(crate) const NFTA_TABLE_NAME: u16 = 1;
pub(crate) const NFTA_TABLE_FLAGS: u16 = 2;
pub(crate) const NFT_TABLE_F_OWNER: u32 = 2;

/// enum nft_chain_attributes.
pub(crate) const NFTA_CHAIN_TABLE: u16 = 1;
pub(crate) const NFTA_CHAIN_NAME: u16 = 3;
pub(crate) const NFTA_CHAIN_HOOK: u16 = 4;
pub(crate) const NFTA_CHAIN_POLICY: u16 = 5;
pub(crate) const NFTA_CHAIN_TYPE: u16 = 7;

/// enum nft_hook_attributes.
pub(crate) const NFTA_HOOK_HOOKNUM: u16 = 1;
pub(crate) const NFTA_HOOK_PRIORITY: u16 = 2;

/// enum nft_rule_attributes.
pub(crate) const NFTA_RULE_TABLE: u16 = 1;
pub(crate) const NFTA_RULE_CHAIN: u16 = 2;
pub(crate) const NFTA_RULE_EXPRESSIONS: u16 = 4;

/// enum nft_list_attributes and enum nft_expr_attributes.
pub(crate) const NFTA_LIST_ELEM: u16 = 1;
pub(crate) const NFTA_EXPR_NAME: u16 = 1;
pub(crate) const NFTA_EXPR_DATA: u16 = 2;

/// enum nft_data_attributes and enum nft_verdict_attributes.
pub(crate) const NFTA_DATA_VALUE: u16 = 1;
pub(crate) const NFTA_DATA_VERDICT: u16 = 2;
pub(crate) const NFTA_VERDICT_CODE: u16 = 1;

/// enum nft_immediate_attributes.
pub(crate) const NFTA_IMMEDIATE_DREG: u16 = 1;
pub(crate) const NFTA_IMMEDIATE_DATA: u16 = 2;

/// enum nft_cmp_attributes and enum nft_cmp_ops.
pub(crate) const NFTA_CMP_SREG: u16 = 1;
pub(crate) const NFTA_CMP_OP: u16 = 2;
pub(crate) const NFTA_CMP_DATA: u16 = 3;
pub(crate) const NFT_CMP_EQ: u32 = 0;
pub(crate) const NFT_CMP_NEQ: u32 = 1;

/// enum nft_payload_attributes and enum nft_payload_bases.
pub(crate) const NFTA_PAYLOAD_DREG: u16 = 1;
pub(crate) const NFTA_PAYLOAD_BASE: u16 = 2;
pub(crate) const NFTA_PAYLOAD_OFFSET: u16 = 3;
pub(crate) const NFTA_PAYLOAD_LEN: u16 = 4;
pub(crate) const NFT_PAYLOAD_NETWORK_HEADER: u32 = 1;

/// enum nft_meta_attributes and enum nft_meta_keys.
pub(crate) const NFTA_META_DREG: u16 = 1;
pub(crate) const NFTA_META_KEY: u16 = 2;
pub(crate) const NFT_META_IIF: u32 = 4;

/// enum nft_tproxy_attributes.
pub(crate) const NFTA_TPROXY_FAMILY: u16 = 1;
pub(crate) const NFTA_TPROXY_REG_PORT: u16 = 3;
