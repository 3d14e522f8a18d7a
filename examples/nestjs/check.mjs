// A NestJS application: the URL of a client of @nestjs/microservices is passed on to grpc-js.
import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientsModule, Transport } from '@nestjs/microservices';
import { register } from 'grpc-xds';
import { firstValueFrom } from 'rxjs';
import { callBothBackends } from '../echo/both-backends.mjs';

// Before a module creates its client.
register();

const options = {
  package: 'echo',
  protoPath: fileURLToPath(new URL('../echo/echo.proto', import.meta.url)),
  url: 'xds:///echo',
};

class EchoService {
  constructor(client) {
    this.client = client;
  }

  onModuleInit() {
    this.echo = this.client.getService('Echo');
  }

  async say() {
    return (await firstValueFrom(this.echo.say({ text: 'hello' }))).backend;
  }
}

// As decorators, in JavaScript.
Injectable()(EchoService);
Inject('ECHO')(EchoService, undefined, 0);

class AppModule {}
Module({
  imports: [ClientsModule.register([{ name: 'ECHO', transport: Transport.GRPC, options }])],
  providers: [EchoService],
})(AppModule);

const application = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const service = application.get(EchoService);
console.log(await callBothBackends(() => service.say()));
await application.close();
