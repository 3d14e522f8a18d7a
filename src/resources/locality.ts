/** Where endpoints are: region, zone and sub-zone, each possibly empty. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
}

/** The text form of a locality, unique per locality (gRFC A78): `{region="r", zone="z", sub_zone="s"}`. */
export function localityName(locality: Locality): string {
  const quote = (text: string) => JSON.stringify(text);
  return `{region=${quote(locality.region)}, zone=${quote(locality.zone)}, sub_zone=${quote(locality.subZone)}}`;
}
